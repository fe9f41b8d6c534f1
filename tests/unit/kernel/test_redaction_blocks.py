"""A key that is said piece by piece."""

import pytest

from forge_project.kernel.redaction.blocks import left_open, rest_of_key

BEGIN, END = "-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "inside", "open_"),
    [
        ("nothing", False, False), ("nothing", True, True), (BEGIN, False, True), (f"{BEGIN}\nx\n{END}", False, False),
        (f"{END}", True, False), (f"{END} {BEGIN}", True, True), (f"{BEGIN}{END}{BEGIN}", False, True),
        ("-----BEGIN CERTIFICATE-----", False, False), ("-----BEGIN PGP PRIVATE KEY BLOCK-----", False, True),
    ],
)  # fmt: skip
def test_left_open(text, inside, open_):
    assert left_open(text, inside=inside) is open_


@pytest.mark.parametrize(("text", "rest"), [("abc", "abc"), (f"abc{END} x", f"abc{END}"), ("", "")])
def test_the_rest(text, rest):
    assert text[: rest_of_key(text)] == rest
