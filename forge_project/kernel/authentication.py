"""Knox's token authentication, hardened against header bytes that are not text."""

from typing import Any

from knox.auth import TokenAuthentication
from rest_framework import exceptions


class Token(TokenAuthentication):  # type: ignore[misc]  # knox ships no types
    """`Authorization: Token forge_…`; anything else in the header is a 401, never a 500."""

    def authenticate_credentials(self, token: bytes) -> Any:
        if not token.isascii() or len(token) > 200:
            raise exceptions.AuthenticationFailed("Invalid token.")
        return super().authenticate_credentials(token)
