"""Writes of artifacts."""

from artifacts.services.register import Register, register, store

__all__ = ["Register", "register", "store"]
