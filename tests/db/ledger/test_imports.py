"""`ledger_import`: batches, resume, refusals by item, nothing twice."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from forge_project.kernel import failpoints
from forge_project.ledger import imports
from forge_project.ledger.models import Event, Import
from forge_project.ledger.verify import verify

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _ledger_is_clean(db):
    yield
    assert verify().findings == []


def event(n, **more):
    base = {
        "session_id": "s",
        "run_id": "r",
        "turn_id": "t",
        "invocation_id": f"i{n % 3}",
        "event_id": f"e{n}",
        "ts": n,
    }
    return base | {"role": "model", "author": "agent", "content": {"kind": "text", "text": "a\0b" * 3}} | more


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "events.jsonl"

    def write(*events):
        path.write_text("".join((json.dumps(one) if isinstance(one, dict) else one) + "\n" for one in events))
        return path

    return write


def run(path, *args):
    out = StringIO()
    code = 0
    try:
        call_command("ledger_import", str(path), "--owner", "user:ada", *args, stdout=out)
    except SystemExit as end:
        code = end.code
    return code, out.getvalue().strip()


def test_a_file_goes_in_once(file):
    path = file(*[event(n) for n in range(2500)])
    assert run(path) == (0, "2500 written, 0 there already, 0 refused")
    assert run(path) == (0, "already imported")
    assert (Event.objects.count(), Import.objects.get().items) == (2500, 2500)
    assert set(Event.objects.values_list("source", flat=True)) == {"import"}


def test_a_changed_file_brings_only_what_is_new(file):
    run(file(event(1), event(2)))
    assert run(file(event(1), event(2), event(3))) == (0, "1 written, 2 there already, 0 refused")


def test_a_bad_item_stops_its_batch_and_a_mended_file_goes_on(file):
    path = file(*[event(n) for n in range(1500)], event(1500, mood=1), "not JSON", event(3))
    code, told = run(path)
    assert (code, told.splitlines()[-1]) == (1, "1000 written, 0 there already, 2 refused")
    assert told.splitlines()[:2] == [
        "line 1501: INVALID_REQUEST there is no such key mood",
        "line 1502: INVALID_REQUEST not JSON: Expecting value",
    ]
    assert Event.objects.count() == 1000
    assert run(path)[1].endswith("2 refused (resumed after line 1000)")
    assert run(file(*[event(n) for n in range(1500)])) == (0, "500 written, 1000 there already, 0 refused")


def test_a_conflict_says_which_line(file):
    path = file(event(1), event(2), event(1, ts=99))
    code, told = run(path)
    assert code == 1
    assert told.splitlines()[0] == "line 3: EVENT_CONFLICT this event id names other content"
    assert not Event.objects.exists()


def test_checking_writes_nothing_and_finds_every_fault(file):
    path = file(event(1), event(2, mood=1), *[event(n) for n in range(3, 1200)], event(5, role="robot"))
    code, told = run(path, "--check", "--json")
    assert code == 1
    assert [item["line"] for item in json.loads(told)["refused"]] == [2, 1200]
    assert not Event.objects.exists()
    assert not Import.objects.exists()


def test_the_report_names_every_item(file, tmp_path):
    run(file(event(1)))
    run(file(event(1), event(2)), "--report", str(tmp_path / "report"))
    told = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    assert [(item["line"], item["became"], item["event_id"]) for item in told] == [
        (1, "already", "e1"), (2, "created", "e2"),
    ]  # fmt: skip


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_crash_loses_no_batch_and_doubles_none(file, nth):
    path = file(*[event(n) for n in range(2500)])
    seen = []
    with failpoints.crash_at("ledger.import", nth):
        imports.load(path, "user:ada", progress=seen.append)
    assert Event.objects.count() == (nth - 1) * 1000
    report = imports.load(path, "user:ada", progress=seen.append)
    assert (report.resumed_at, report.created, report.already) == ((nth - 1) * 1000, 2500 - (nth - 1) * 1000, 0)
    assert (Event.objects.count(), seen[-1]) == (2500, path.stat().st_size)


def test_what_can_not_be_read_is_said_in_one_line(tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        run(tmp_path / "nowhere")
