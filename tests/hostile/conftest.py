"""The same real zygote as the unit tests of the sandbox."""

from tests.unit.sandbox.conftest import zygote

__all__ = ["zygote"]
