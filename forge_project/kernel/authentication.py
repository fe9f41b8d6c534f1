"""Knox's token authentication, hardened against header bytes that are not text."""

import re
from typing import Any

from knox.auth import TokenAuthentication
from rest_framework import exceptions

_TOKEN = re.compile(rb"[\x21-\x7e]{1,200}")


class Token(TokenAuthentication):  # type: ignore[misc]  # knox ships no types
    """`Authorization: Token forge_…`; anything else in the header is a 401, never a 500."""

    def authenticate_credentials(self, token: bytes) -> Any:
        if not _TOKEN.fullmatch(token):
            raise exceptions.AuthenticationFailed("Invalid token.")
        return super().authenticate_credentials(token)
