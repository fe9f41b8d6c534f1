"""How often one account may ask, by scope: a counter for each minute in Django's cache."""

from typing import Any

from django.conf import settings
from django.core.cache import cache
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from forge_project.kernel import clock
from forge_project.kernel.errors import TooMany
from forge_project.kernel.log.event import event

WINDOW_SECONDS = 60


class Scoped(BaseThrottle):
    """A view's `throttle_scope` is the scope of its writes (`write` without one); reads are `read`."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """True, or raises TooMany. A cache that is down lets everything pass: it guards, it does not decide."""
        scope = "read" if request.method in SAFE_METHODS else getattr(view, "throttle_scope", "write")
        limit = settings.FORGE_RATES[scope]
        now = clock.now().timestamp()
        window, within = divmod(now, WINDOW_SECONDS)
        if limit and _count(f"rate:{scope}:{self._who(request)}:{int(window)}") > limit:
            wait = max(1, int(WINDOW_SECONDS - within + 0.999))
            event("http", "throttled", scope=scope, who=self._who(request))
            raise TooMany("asked too often", rule=f"rate.{scope}", limit=limit, retry_after=wait)
        return True

    def _who(self, request: Request) -> str:
        user = request.user
        return f"user:{user.pk}" if user and user.is_authenticated else f"address:{self.get_ident(request)}"


def _count(key: str) -> int:
    try:
        cache.add(key, 0, 2 * WINDOW_SECONDS)
        return int(cache.incr(key))
    except Exception as error:
        event("http", "throttling_failed", error=type(error).__name__)
        return 0
