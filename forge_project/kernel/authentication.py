"""Knox's token authentication, hardened against header bytes that are not text."""

import re
from typing import Any

from knox.auth import TokenAuthentication
from rest_framework import exceptions

from forge_project.kernel import clock

_TOKEN = re.compile(rb"[\x21-\x7e]{1,200}")


class Token(TokenAuthentication):  # type: ignore[misc]  # knox ships no types
    """`Authorization: Token forge_…`; anything else in the header is a 401, never a 500."""

    def _cleanup_token(self, auth_token: Any) -> bool:
        """Whether it has expired. Knox would delete it, and look at all others of its user, on every request."""
        return auth_token.expiry is not None and auth_token.expiry < clock.now()

    def authenticate_credentials(self, token: bytes) -> Any:
        if not _TOKEN.fullmatch(token):
            raise exceptions.AuthenticationFailed("Invalid token.")
        return super().authenticate_credentials(token)
