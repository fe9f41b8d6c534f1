"""What is masked, by which rule, and what is left alone."""

import json
import re
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest

from forge_project.kernel.redaction import Redactor

KEY = b"one execution's own key"
VALUE = 'pa"ss\\w/rd+é&42 xyz'
plain = Redactor(KEY)


def masked(text, secrets=None):
    return Redactor(KEY, secrets or {"db": VALUE}).text(text)


FORMS = {
    "exact": VALUE,
    "json": json.dumps(VALUE)[1:-1],
    "json, not ascii": json.dumps(VALUE, ensure_ascii=False)[1:-1],
    "json in json": json.dumps(json.dumps(VALUE))[3:-3],
    "json, slash escaped": json.dumps(VALUE)[1:-1].replace("/", "\\/"),
    "repr": repr(VALUE)[1:-1],
    "base64": b64encode(VALUE.encode()).decode(),
    "base64 without padding": b64encode(VALUE.encode()).decode().rstrip("="),
    "base64url": urlsafe_b64encode(VALUE.encode()).decode(),
    "hex": VALUE.encode().hex(),
    "HEX": VALUE.encode().hex().upper(),
    "path": quote(VALUE),
    "component": quote(VALUE, safe=""),
    "component, lower case": re.sub("%..", lambda found: found[0].lower(), quote(VALUE, safe="")),
    "form": quote_plus(VALUE),
    "JavaScript": quote(VALUE, safe="!*'()"),
    "every byte": "".join(f"%{byte:02X}" for byte in VALUE.encode()),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_known_value_is_masked_in_every_form(form):
    assert masked(f"before {FORMS[form]} after") == "before [SECRET:db] after"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "longer user:"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_a_known_value_inside_a_longer_base64_text_is_masked(before, encode):
    token = encode(f"{before}{VALUE}:tail".encode()).decode()
    core = encode(f"{before}{VALUE}:tail".encode()).decode()[len(before) * 8 // 6 + 2 : -8]
    assert "[SECRET:db]" in masked(f"Basic {token}")
    assert core not in masked(f"Basic {token}")


def test_reversed_is_not_found():
    """The limit, on record (C187): what an author transforms himself can't be listed."""
    assert masked(VALUE[::-1]) == VALUE[::-1]


ACCOUNT = {
    "type": "service_account",
    "private_key_id": "90d1c23a9bbb",
    "auth": {"password": "hunter22", "pins": [73519042, True, "ab"]},
}


@pytest.mark.parametrize("leaf", ["90d1c23a9bbb", "hunter22", "73519042"])
def test_each_leaf_of_a_secret_that_is_json_is_masked(leaf):
    assert masked(f"x {leaf} y", {"account": json.dumps(ACCOUNT)}) == "x [SECRET:account] y"


def test_flags_and_tiny_leaves_of_a_secret_that_is_json_are_left():
    assert masked("true ab", {"account": json.dumps(ACCOUNT)}) == "true ab"


def test_a_key_file_is_masked_line_by_line():
    lines = ["MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSjAgEAAoIB"]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    assert masked(f"log: {lines[1]}.", {"tls": pem}) == "log: [SECRET:tls]."


def test_long_base64_is_found_where_tools_break_its_lines():
    value = "".join(chr(33 + n % 90) for n in range(200))
    whole = b64encode(value.encode()).decode()
    for width in (64, 76):
        wrapped = "\n".join(whole[at : at + width] for at in range(0, len(whole), width))
        shown = masked(wrapped, {"long": value})
        assert not [line for line in wrapped.splitlines() if line in shown]


def test_the_longer_of_two_nested_secrets_wins():
    secrets = {"short": "hunter22", "long": "xx-hunter22-yyyy"}
    assert masked("a xx-hunter22-yyyy b hunter22", secrets) == "a [SECRET:long] b [SECRET:short]"


def test_overlapping_secrets_leave_no_rest():
    assert masked("_abcdefgh12345678_", {"a": "abcdefgh1234", "b": "gh12345678"}) == "_[SECRET:a]_"
    assert masked("_abababababab_", {"a": "ababab"}) == "_[SECRET:a]_"


@pytest.mark.parametrize("value", ["", "a", "abc"])
def test_tiny_values_are_ignored(value):
    assert masked("a banana abc", {"tiny": value}) == "a banana abc"


def test_a_mask_around_a_known_value_does_not_save_it():
    assert VALUE not in masked(f"[SECRET:{VALUE}] {VALUE}SECRET:11111111]")


def test_a_secret_that_is_part_of_anothers_name_does_not_break_its_mask():
    secrets = {"production-db": VALUE, "word": "production"}
    assert masked(masked(f"a {VALUE} production", secrets), secrets) == "a [SECRET:production-db] [SECRET:word]"


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [(name, True) for name in (
        "authorization", "bearer", "api_key", "apiKey", "API-KEY", "apikey", "APIKey", "token", "accessToken",
        "access_token", "X-Auth-Token", "password", "DB_PASSWORD", "userPassword2", "cookie", "Set-Cookie", "secret",
        "client_secret", "private_key", "privateKey", "privatekey", "secrets",
    )]
    + [(name, False) for name in (
        "max_tokens", "maxTokens", "tokens", "tokenizer", "secretary", "keyboard", "key", "api", "public_key", "monkey",
        "passwordless", "cookiecutter", "apikeys", "authority", "bearers", "primary_key", "tokenise", "",
    )],
)  # fmt: skip
def test_names_are_judged_by_whole_words(name, is_secret):
    assert (plain.value({name: "some value"}) != {name: "some value"}) is is_secret
    assert (plain.text(f"{name}=some") != f"{name}=some") is is_secret
    assert (plain.value(["run", f"--{name}", "some"]) != ["run", f"--{name}", "some"]) is is_secret


def test_containers_and_numbers_under_a_secret_name_keep_their_types():
    shown = plain.value({"secrets": ["a", {"b": 17, "c": None, "d": [True, ""]}], "password": 4711, "token_count": 5})
    mark = shown["secrets"][0]
    assert mark.startswith("[SECRET:")
    assert shown == {"secrets": [mark, {"b": 0, "c": None, "d": [True, ""]}], "password": 0, "token_count": 5}


def test_argv_hides_what_follows_a_secret_flag():
    argv = [
        "tool",
        "--token",
        "t0ps",
        "--verbose",
        "-token",
        "t0ps",
        "--api-key=t0ps and more",
        "--password",
        "--next",
        "x",
    ]
    mark = plain.value(["--token", "t0ps"])[1]
    other = plain.value(["--api-key=t0ps and more"])[0]
    assert plain.value(argv) == [
        "tool", "--token", mark, "--verbose", "-token", mark, other, "--password", "--next", "x",
    ]  # fmt: skip
    assert other.startswith("--api-key=[SECRET:")
    assert plain.value(["- use a token", "- then rest"]) == ["- use a token", "- then rest"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ~"),
        ("Authorization: Basic dXNlcjpw\r\nX: y", "Authorization: Basic ~\r\nX: y"),
        ("Cookie: a=b; c=d\nX: y", "Cookie: ~\nX: y"),
        ("saw Bearer abc123, and more", "saw Bearer ~, and more"),
        ("bearer tokens are refused", "bearer tokens are refused"),
        ("password: hunter2, then", "password: ~, then"),
        ("(password=hunter2)", "(password=~)"),
        ("password=p,w;0rd end", "password=~ end"),
        ("DB_PASSWORD='two words' next", "DB_PASSWORD='~' next"),
        ('token = "a\\"b" next', 'token = "~" next'),
        ("{'password': b'abc', 'n': 1}", "{'password': b'~', 'n': 1}"),
        (r"\"token\": \"abc\", \"n\"", r"\"token\": \"~\", \"n\""),
        (r"x\npassword=abc\nn=1", r"x\npassword=~"),
        ("tool --token abc --verbose", "tool --token ~ --verbose"),
        ("tool -token=abc --verbose", "tool -token=~ --verbose"),
        ("https://token:abc@host/p?token=q&n=1", "https://token:~@host/p?token=~&n=1"),
        ("postgres://u:p@ss@host/db", "postgres://u:~@host/db"),
        ("https://host:8080/token/x", "https://host:8080/token/x"),
        ('cut off {"password": "x", "n', 'cut off {"password": "~", "n'),
        ("password: null", "password: null"),
        ("password:\n  n: 1", "password:\n  n: 1"),
        ("if (token == other)", "if (token == ~)"),
        ("[SECRET:hunter2]", "[SECRET:~]"),
    ],
)
def test_text_hides_the_value_and_keeps_what_is_around(text, shown):
    found = plain.text(text)
    assert "~".join(plain_parts(found)) == shown
    assert plain.text(found) == found


def plain_parts(text):
    return re.split(r"\[SECRET:[0-9a-f]{8}\]", text)


@pytest.mark.parametrize(
    "token",
    [
        "AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9, "github_pat_" + "11ABC_" * 8, "glpat-" + "x9" * 10,
        "sk-proj-" + "aB3-" * 8, "sk_live_" + "a1" * 12, "xoxb-1234567890-abcdef", "AIza" + "Sy" * 18,
        "npm_" + "a1" * 18, "hf_" + "aB" * 17, "SG." + "a" * 22 + "." + "b" * 43,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
)  # fmt: skip
def test_tokens_of_known_providers_are_masked_by_their_shape(token):
    for around in ("<{}>", "say {}.", 'x\\n{}"', "?q=%3D{}"):
        assert plain_parts(plain.text(around.format(token))) == around.split("{}"), around


@pytest.mark.parametrize(
    "text", ["sk-learn-and-other-hyphenated-words", "task-1234567890123456789", "eyJ.a.b", "AKIA", "ghp_x"]
)
def test_what_only_looks_like_a_token_is_left(text):
    assert plain.text(text) == text


def test_a_private_key_is_masked_whole_and_cut_off():
    key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIE\n-----END RSA PRIVATE KEY-----"
    assert plain_parts(plain.text(f"a {key} b")) == ["a ", " b"]
    assert plain_parts(plain.text(f"a {key[:60]}")) == ["a ", ""]
    public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"
    assert plain.text(public) == public


def test_json_inside_strings_is_masked_as_json_and_stays_json():
    inner = json.dumps({"headers": {"Cookie": "a=b"}, "max_tokens": 5, "again": json.dumps([{"password": "x"}])})
    shown = json.loads(plain.value({"body": inner})["body"])
    assert shown["max_tokens"] == 5
    assert shown["headers"]["Cookie"].startswith("[SECRET:")
    assert json.loads(shown["again"])[0]["password"].startswith("[SECRET:")
    untouched = '{ "n" : 1.50 }'
    assert plain.text(untouched) == untouched


def test_a_key_that_stands_twice_hides_nothing_from_the_rules():
    shown = masked(f'{{"password": "x1y2", "password": "", "a": {json.dumps(VALUE)}, "a": 1}}')
    assert "x1y2" not in shown
    assert json.dumps(VALUE)[1:-1] not in shown


def test_keys_are_masked_too_and_no_entry_is_lost():
    r = Redactor(KEY, {"a": "abcdefgh12345678"})
    assert r.value({"abcdefgh12345678": 1, "[SECRET:a]": 2}) == {"[SECRET:a]": 1, "[SECRET:a]~": 2}


def test_a_number_that_is_a_known_value_becomes_zero():
    assert Redactor(KEY, {"pin": "1234567890123456"}).known([1234567890123456, 12]) == [0, 12]


def test_guest_and_caller_lose_only_known_values():
    value = {"password": "theirs", "text": f"token=abc {VALUE}", "argv": ["--token", "x"], "n": 5}
    assert Redactor(KEY, {"db": VALUE}).known(value) == {**value, "text": "token=abc [SECRET:db]"}
    assert Redactor(KEY, {"db": VALUE}).known(f"a {VALUE}") == "a [SECRET:db]"


def test_equal_secrets_look_equal_within_one_execution_only():
    first, second = plain.value({"password": "same"}), plain.value({"token": "same"})
    assert first["password"] == second["token"] != plain.value({"token": "other"})["token"]
    assert Redactor(b"another execution").value({"token": "same"}) != second


def test_a_known_value_keeps_its_name_under_a_secret_name():
    assert Redactor(KEY, {"db": VALUE}).value({"password": f"Bearer {VALUE}"}) == {"password": "[SECRET:db]"}


def test_the_redactor_shows_nothing_of_itself():
    r = Redactor(KEY, {"db": VALUE})
    assert VALUE not in repr(r) + str(r.stream()) + repr(vars(r)["_known"])


def test_nesting_deeper_than_python_recurses_is_walked():
    deep = leaf = []
    for _ in range(50_000):
        leaf.append([])
        leaf = leaf[0]
    leaf.append({"password": "x1y2"})
    node = plain.value(deep)
    while isinstance(node, list):
        node = node[0]
    assert node["password"].startswith("[SECRET:")
    assert plain.text("[" * 100_000 + "]" * 100_000).startswith("[[")


MB = 1 << 20
ADVERSARIAL = [
    "a", "a=", "token=", "token", 'token="', 'token=\\"', "token: bearer ", "bearer ", "cookie: ", "--token ", "-a",
    "--a ", "-----BEGIN PRIVATE KEY-----", "://a:", "://", "eyJaaaaaaaaaa.", "eyJ", "sk-", "AKIA", "ghp_a", "[SECRET:",
    "[SECRET:11111111]", "token=[SECRET:11111111]", "[", '{"a":', "\\", "\\n", "%41", " ", "&", "a \t", "x@y:z/",
    "abcdefgh12345678", "abcdefgh1234567", '{"token": "x"},',
]  # fmt: skip


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_the_time_grows_with_the_text_and_not_faster(unit):
    """A megabyte in under a second, or (on a slow or busy machine) in 20 times what an eighth of it took: quadratic
    would be 64 times. By this thread's CPU time, the best of three."""
    r = Redactor(KEY, {"a": "abcdefgh12345678", "db": VALUE})
    for begin in ("", "://x:token="):
        eighth, whole = (begin + unit * (size // len(unit)) for size in (MB // 8, MB))
        assert any(seconds(r.text, whole) < max(1, 20 * seconds(r.text, eighth)) for _ in range(3))


def seconds(work, text):
    before = time.thread_time()
    work(text)
    return time.thread_time() - before
