"""Encryption at rest: what comes back, which key may be lost, and what no text ever says."""

import base64
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge_project.kernel.errors import ForgeError
from forge_project.kernel.sealing import SealBroken, Sealer

# Fixed: they are in test ids, which two workers of one run must agree on.
OLD, NEW, OTHER = (base64.urlsafe_b64encode(bytes([n]) * 32).decode() for n in (1, 2, 3))
SAFE = 2**53 - 1
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(JSON)
def test_a_value_comes_back_as_it_was(value):
    assert Sealer([NEW]).open(Sealer([NEW]).seal(value)) == value


def test_bytes_come_back_as_they_were():
    data = bytes(range(256)) * 100
    assert Sealer([NEW]).open_bytes(memoryview(Sealer([NEW]).seal_bytes(data))) == data


def test_the_token_does_not_show_the_content():
    token = Sealer([NEW]).seal({"source": "const canary = 1"})
    assert b"canary" not in token
    assert token != Sealer([NEW]).seal({"source": "const canary = 1"})


def test_the_first_key_seals_and_every_key_opens():
    token = Sealer([OLD]).seal("x")
    assert Sealer([NEW, OLD]).open(token) == "x"
    with pytest.raises(SealBroken):
        Sealer([OLD]).open(Sealer([NEW, OLD]).seal("x"))


def test_a_rotated_token_needs_only_the_new_key():
    token = Sealer([OLD]).seal({"a": 1})
    assert Sealer([NEW]).open(Sealer([NEW, OLD]).rotate(token)) == {"a": 1}
    with pytest.raises(SealBroken):
        Sealer([NEW]).rotate(token)


@pytest.mark.parametrize(
    "spoil",
    [lambda t: t[:-1], lambda t: t[:40] + b"A" + t[41:] if t[40:41] != b"A" else t[:40] + b"B" + t[41:], lambda t: b""],
)
def test_an_altered_token_is_refused(spoil):
    with pytest.raises(SealBroken):
        Sealer([NEW]).open(spoil(Sealer([NEW]).seal("x" * 100)))


def test_the_wrong_key_is_a_forge_error_without_key_or_content():
    token = Sealer([OLD]).seal("canary")
    with pytest.raises(ForgeError) as caught:
        Sealer([NEW, OTHER]).open(token)
    told = "".join(traceback.format_exception(caught.value)) + str(caught.value.facts) + repr(Sealer([NEW, OTHER]))
    assert "none of the 2 sealing keys" in told
    assert not [word for word in (OLD, NEW, OTHER, "canary", token.decode()) if word in told]


@pytest.mark.parametrize("bad", ["not-a-key-of-mine", "", NEW[:-4], NEW + NEW, f"!{NEW}", "schlüssel" * 5])
def test_a_bad_key_is_named_by_its_place_only(bad):
    with pytest.raises(ValueError, match="sealing key 2 of 3") as caught:
        Sealer([NEW, bad, OLD])
    told = "".join(traceback.format_exception(caught.value)[-1:]) + str(caught.value)
    assert not [word for word in (bad, NEW, OLD) if word and word in told]


@pytest.mark.parametrize("none", [[], "", NEW])
def test_keys_are_a_list_of_at_least_one(none):
    with pytest.raises(ValueError, match="at least one key"):
        Sealer(none)


def test_spaces_around_a_key_do_not_matter():
    assert Sealer([f" {NEW}\n"]).open(Sealer([NEW]).seal(1)) == 1
