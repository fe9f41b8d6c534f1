"""What holds for any JSON, any text, and any way of cutting a stream."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forge_project.kernel.redaction import Redactor

KEY = b"k" * 32
WORDS = r"""
token password api_key Authorization Cookie Bearer bearer --token -token x abcdef12 = : " ' \ \" , ; & @ :// /
( ) [ ] { } [SECRET:11111111] [SECRET:name] [SECRET: SECRET Basic null AKIAIOSFODNN7EXAMPLE ghp_abcdefghij0123456789
eyJhbGciOiJI.eyJzdWIiOiIx.abc sk-abcdefgh1234567890 -----BEGIN -----END \n %20 == => - é
"""
SPACES = [" ", "\n", "\t", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"]
FRAGMENTS = st.sampled_from(WORDS.split() + SPACES)
TEXTS = st.text() | st.lists(FRAGMENTS, max_size=25).map("".join)
NUMBERS = st.integers() | st.floats()


def json_values(texts):
    return st.recursive(
        st.none() | st.booleans() | NUMBERS | texts,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5) | inner.map(json.dumps),
        max_leaves=20,
    )


# Without brackets, no secret can stand half in a mask: see test_a_mask_around_a_known_value_does_not_save_it for those.
SECRETS = st.text(st.characters(exclude_characters="[]"), min_size=8, max_size=40).filter(lambda s: len(s.strip()) >= 8)
STORES = st.dictionaries(st.sampled_from(["name", "db", "git-hub"]), SECRETS, max_size=3)


def shape(value):
    """The types of a value, container by container; the keys may be masked, their number and order may not change."""
    if isinstance(value, dict):
        return [dict, *map(shape, value.values())]
    if isinstance(value, list):
        return [list, *map(shape, value)]
    return "number" if type(value) in (int, float) else type(value)


@given(json_values(TEXTS), STORES)
def test_any_json_is_masked_without_error_and_keeps_its_types(value, store):
    redactor = Redactor(KEY, store)
    assert shape(redactor.value(value)) == shape(value)
    assert shape(redactor.known(value)) == shape(value)


@settings(max_examples=300, deadline=None)
@given(json_values(TEXTS), STORES)
def test_masking_twice_changes_nothing(value, store):
    redactor = Redactor(KEY, store)
    once = redactor.value(value)
    assert json.dumps(redactor.value(once)) == json.dumps(once)


@settings(max_examples=1000, deadline=None)
@given(TEXTS)
@example("token=[SECRET:11111111]]")
@example("://AKIA0000000000000000@")
@example("AKIA0000000000000000-----BEGIN PRIVATE KEY-----")
@example("SECRET:-----BEGIN PRIVATE KEY----------")
@example("-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----AKIA7ADEEFILMNN00PSX")
def test_masking_text_twice_changes_nothing(text):
    once = Redactor(KEY).text(text)
    assert Redactor(KEY).text(once) == once


def shown_as(secret):
    data = secret.encode("utf-8", "surrogatepass")
    every = "".join(f"%{byte:02x}" for byte in data)
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    encoded = {b64encode(data).decode(), urlsafe_b64encode(data).decode(), data.hex(), data.hex().upper()}
    return [secret, *escaped, *encoded, quote(data), quote(data, safe=""), every, every.upper()]


@st.composite
def leaks(draw):
    """A store, and a JSON value with one form of one of its secrets somewhere in it."""
    store = draw(STORES.filter(bool))
    forms = st.sampled_from(sorted(store)).flatmap(lambda name: st.sampled_from(shown_as(store[name])))
    leak = st.tuples(TEXTS, forms, TEXTS).map("".join)
    return store, draw(json_values(TEXTS | leak)), draw(leak)


@settings(max_examples=300, deadline=None)
@given(leaks())
def test_no_form_of_a_known_secret_survives(case):
    store, value, leak = case
    redactor = Redactor(KEY, store)
    for out in (redactor.value([value, leak]), redactor.known([value, leak])):
        texts = list(leaves(out))
        for secret in store.values():
            for form in shown_as(secret):
                assert not [text for text in texts if form in text.replace("[SECRET:", "[").replace("git-hub]", "]")]


def leaves(value):
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield value


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_stream_masks_as_the_whole_text_does_wherever_it_is_cut(data):
    store = data.draw(
        st.dictionaries(st.sampled_from("abc"), st.text("xyz1", min_size=4, max_size=9) | SECRETS, max_size=3)
    )
    forms = [form for secret in store.values() for form in shown_as(secret)]
    pieces = st.text("xyz1 ", max_size=6) | (st.sampled_from(forms) if forms else st.nothing())
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))

    redactor = Redactor(KEY, store)
    stream = redactor.stream()
    fed = [stream.feed(text[start:end]) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(fed) + stream.finish() == redactor.known(text)


def test_a_stream_holds_back_only_what_may_become_a_secret():
    stream = Redactor(KEY, {"a": "hunter2hunter2xx"}).stream()
    assert stream.feed("plain text, at once ") == "plain text, at once "
    assert [stream.feed(char) for char in "hunter2hunter2x"] == [""] * 15
    assert stream.feed("x!") == "[SECRET:a]!"
    assert stream.feed("hunter2 was not it") == "hunter2 was not it"
    assert stream.feed("hunt") + stream.finish() == "hunt"
