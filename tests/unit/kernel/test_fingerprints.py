import pytest

from forge_project.kernel.fingerprints import Fingerprints

OLD, NEW = "an old key of some length", "a newer key of some length"


def test_the_same_data_in_another_order_or_number_form_has_the_same_fingerprint():
    prints = Fingerprints([NEW])
    assert prints.of({"a": 1.0, "b": [1e-7]}) == prints.of({"b": [0.0000001], "a": 1})
    assert prints.of({"a": 1}) != prints.of({"a": "1"})


def test_an_older_key_still_compares_and_the_first_makes():
    before, after = Fingerprints([OLD]), Fingerprints([NEW, OLD])
    digest = before.of({"x": 1})
    assert after.match(digest, {"x": 1})
    assert not after.match(digest, {"x": 2})
    assert after.of({"x": 1}) != digest
    assert not Fingerprints([NEW]).match(digest, {"x": 1})


@pytest.mark.parametrize("digest", ["", "x", "jcs1:hmac-sha256::", "sha256:00", "jcs1:hmac-sha256:zz:00"])
def test_anything_else_matches_nothing(digest):
    assert not Fingerprints([NEW]).match(digest, {})


def test_a_short_key_is_refused_and_no_key_is_shown():
    with pytest.raises(ValueError, match="16 characters"):
        Fingerprints(["short"])
    assert NEW not in repr(Fingerprints([NEW]))
