"""How long requests take: kept by each web process, in files under FORGE_VAR where several have to be added up."""

from contextlib import suppress

from prometheus_client import CollectorRegistry, Histogram

REGISTRY = CollectorRegistry()
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_SECONDS = Histogram(
    "forge_http_request_seconds",
    "Requests by route; a long poll (`wait`) counts as long as it was held.",
    ["method", "route", "status"],
    buckets=_BUCKETS,
    registry=REGISTRY,
)


def observe(method: str, route: str, status: int, seconds: float) -> None:
    """Counts one answered request. What a client can choose freely is no label."""
    with suppress(Exception):  # a full disk under FORGE_VAR costs a figure, not an answer
        _SECONDS.labels(method if method in _METHODS else "other", route or "none", str(status)).observe(seconds)
