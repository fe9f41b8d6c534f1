"""Forge's HTTP API, as any agent or person uses it from outside."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from forge_project.kernel import clock
from forge_project.kernel.errors import Failed

_TIMEOUT = 40.0  # seconds; longer than any wait asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One account's token at one address."""

    url: str
    token: str = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer's JSON. Raises Failed for anything but success."""
        sent = {"Accept": "application/json", "Content-Type": "application/json"} | headers
        sent |= {"Authorization": f"Token {self.token}"} if self.token else {}
        try:
            status, answer = self._exchange(method, path, None if body is None else json.dumps(body), sent)
        except (OSError, HTTPException) as error:
            raise Failed(f"{method} {path}: {error!r}") from None
        if not 200 <= status < 300:
            raise Failed(f"{method} {path} answered {status}: {answer[:500].decode(errors='replace')}")
        return json.loads(answer) if answer else None

    def answers(self, path: str) -> bool:
        """Whether somebody answers this address with success."""
        try:
            return 200 <= self._exchange("GET", path, None, {})[0] < 300
        except (OSError, HTTPException):
            return False

    def until(self, ref: str, *wanted: str, seconds: float) -> dict[str, Any]:
        """The execution once its status is one of `wanted`; Failed after `seconds`, or when it can't come to be."""
        deadline = clock.monotonic() + seconds
        while clock.monotonic() < deadline:
            record: dict[str, Any] = self.call("GET", f"/api/v1/executions/{ref}/?wait=5")
            if record["status"] in wanted:
                return record
            if record["status"] in {"succeeded", "failed", "timed_out", "cancelled", "unknown"}:
                raise Failed(f"the execution is {record['status']}: {record.get('error')}")
        raise Failed(f"the execution is not {' or '.join(wanted)} after {seconds:.0f} s")

    def _exchange(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        address = urlsplit(self.url)
        link = HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT)
        try:
            link.request(method, path, body=body, headers=headers)
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()
