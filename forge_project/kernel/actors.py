"""Who is answerable, as the ledger names them."""

import getpass
import os

from django.contrib.auth.base_user import AbstractBaseUser


def of(user: AbstractBaseUser) -> str:
    """An account of Forge."""
    return f"user:{user.get_username()}"


def shell() -> str:
    """Whoever runs this process on the host: the system account, or its number where it has no name."""
    try:
        return f"os:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"os:{os.getuid()}"
