"""GET executions/<ref>/output/"""

import pytest

from executions.models import Execution, Output
from tests.db.api import get, post, refused
from tests.db.executions import run_all
from tests.echo import Echo

pytestmark = pytest.mark.django_db
TEXT = "aé€😀" * 5


@pytest.fixture
def ref(api):
    """An execution whose output came in three pieces."""
    row = Execution.objects.get(pk=post(api, {"source": "1"}).json()["execution_ref"])
    at = 0
    for piece in (TEXT[:7], TEXT[7:8], TEXT[8:]):
        Output.objects.create(execution=row, stream="output", offset=at, text=piece)
        at += len(piece.encode())
    return row.ref


def read(api, ref, **query):
    answer = get(api, f"/executions/{ref}/output/", **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.django_db(transaction=True)
def test_what_a_script_said(api, runtime):
    body = {"source": "text('one'); text('two'); console.log('x')"}
    ref = post(api, body).json()["execution_ref"]
    run_all(runtime)
    told = {"chunk": "one\ntwo\n", "encoding": "utf-8", "offset": 0, "next_offset": 8, "eof": True}
    assert read(api, ref) == told
    assert read(api, ref, stream="log")["chunk"] == "log: x\n"
    assert read(api, ref, stream="report") == told | {"chunk": "", "next_offset": 0}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 11, 1000])
def test_pieces_never_cut_a_character_and_add_up(api, ref, limit):
    whole, at = "", 0
    while (piece := read(api, ref, offset=at, limit=limit))["chunk"]:
        assert len(piece["chunk"].encode()) <= max(limit, 4)
        assert piece["offset"] == at
        whole, at = whole + piece["chunk"], piece["next_offset"]
    assert (whole, at) == (TEXT, len(TEXT.encode()))


def test_an_offset_within_a_character_is_its_beginning(api, ref):
    data = TEXT.encode()
    for offset in range(len(data) + 1):
        piece = read(api, ref, offset=offset, limit=9)
        assert 0 <= offset - piece["offset"] < 4
        assert data[piece["offset"] : piece["next_offset"]].decode() == piece["chunk"]


def test_it_ends_only_with_the_execution(api, ref):
    size = len(TEXT.encode())
    assert read(api, ref)["eof"] is False
    assert read(api, ref, offset=10**9) == {
        "chunk": "", "encoding": "utf-8", "offset": size, "next_offset": size, "eof": False,
    }  # fmt: skip
    api.post(f"/api/v1/executions/{ref}/cancel/", {"reason": "x"}, format="json")
    assert read(api, ref)["eof"] is True
    assert read(api, ref, limit=5)["eof"] is False


def test_the_default_is_16_kib(api, ref):
    row = Execution.objects.get(pk=ref)
    Output.objects.create(execution=row, stream="log", offset=0, text="x" * 70_000)
    assert read(api, ref, stream="log")["next_offset"] == 16_384
    assert read(api, ref, stream="log", limit=65_536)["next_offset"] == 65_536


@pytest.mark.parametrize(
    "query",
    ["stream=x", "stream=%00", "offset=-1", "offset=1.5", "offset=" + "9" * 30, "limit=0", "limit=65537", "q=%00"],
)
def test_a_bad_range_is_400(api, ref, query):
    refused(api.get(f"/api/v1/executions/{ref}/output/?{query}"), 400, "INVALID_REQUEST")


LINES = [f"MIIEow{n}IBAAKCAQEA" * 3 for n in range(4)]
KEY = ["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("together", [1, 2, 3, 6])
def test_a_key_said_over_several_turns_is_hidden_to_its_end(api, runtime, together):
    """Only its first line betrays it; the others come in later turns."""
    said = [f"text({line!r});" for line in ["before", *KEY, "after"]]
    turns = ["".join(said[at : at + together]) for at in range(0, len(said), together)]
    source = "await tools.tests.echo({value: 1});".join(turns) + "text('the end')"
    ref = post(api, {"source": source}).json()["execution_ref"]
    run_all(runtime)
    whole = read(api, ref)["chunk"]
    assert not any(line in whole for line in LINES)
    assert whole.startswith("before\n")
    assert whole.endswith("after\nthe end\n")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("limit", [1, 3, 7, 16])
def test_no_border_of_chunks_shows_a_secret(api, runtime, limit):
    secret = "ghp_" + "a1B2" * 9
    ref = post(api, {"source": f"text('token {secret} done'); text('{secret}')"}).json()["execution_ref"]
    run_all(runtime)
    whole, at = "", 0
    while not (piece := read(api, ref, offset=at, limit=limit))["eof"]:
        whole, at = whole + piece["chunk"], piece["next_offset"]
    whole += piece["chunk"]
    assert not any(secret[n : n + 12] in whole for n in range(len(secret) - 12))
    assert whole.startswith("token [SECRET:")


@pytest.mark.django_db(transaction=True)
def test_it_is_there_while_the_script_runs(api, runtime, monkeypatch):
    seen = []
    real = Echo.execute
    ref = post(api, {"source": "text('so far'); await tools.tests.echo({value: 1}); text('more')"}).json()[
        "execution_ref"
    ]
    monkeypatch.setattr(Echo, "execute", lambda self, *given: (seen.append(read(api, ref)), real(self, *given))[1])
    run_all(runtime)
    assert [(piece["chunk"], piece["eof"]) for piece in seen] == [("so far\n", False)]
    assert read(api, ref)["chunk"] == "so far\nmore\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr", "report"])
def test_what_a_process_says_is_read_the_same_way(api, ref, stream):
    Output.objects.create(execution_id=ref, stream=stream, offset=0, text=TEXT)
    piece = read(api, ref, stream=stream, limit=6)
    assert (piece["chunk"], piece["next_offset"], piece["eof"]) == ("aé€", 6, False)
    assert read(api, ref, stream=stream, offset=6)["chunk"] == TEXT[3:]
