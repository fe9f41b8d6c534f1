"""Who is answerable, as the ledger names them."""

import getpass
import os
from typing import TYPE_CHECKING

from django.contrib.auth.base_user import AbstractBaseUser

if TYPE_CHECKING:  # it is there only once the apps are loaded
    from django.contrib.auth.models import AnonymousUser


def of(user: "AbstractBaseUser | AnonymousUser") -> str:
    """An account of Forge."""
    return f"user:{user.get_username()}"


def shell() -> str:
    """Whoever runs this process on the host: the system account, or its number where it has no name."""
    try:
        return f"os:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"os:{os.getuid()}"
