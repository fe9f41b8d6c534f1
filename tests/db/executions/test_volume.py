"""The bytes of one execution and of one caller."""

from datetime import timedelta

import pytest

from executions.models import CallerDay, Execution
from executions.services import volume
from forge_project.kernel import clock
from forge_project.kernel.errors import TooMany
from tests.db.executions import run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 2**20


def end(sent):
    row = Execution.objects.get(pk=sent.ref)
    return row.status, row.error_code


@pytest.fixture
def narrow(settings):
    settings.FORGE_EXECUTION_BYTES = 3 * MIB


def test_input_results_and_output_count(caller, workspace, folder, runtime):
    (folder / "a").write_text("y" * 1000)
    source = "text('x'.repeat(500)); const f = await tools.file.read({path: 'a'}); return f.content"
    sent = send(caller, source=source, input="z" * 100, workspace="ws")
    begun = Execution.objects.get().bytes
    assert begun == volume.size({"source": source, "input": "z" * 100})
    run_all(runtime)
    row = Execution.objects.get()
    assert row.status == "succeeded"
    assert 500 + 2 * 1000 < row.bytes - begun < 500 + 2 * 1000 + 400
    assert (row.bytes_told, CallerDay.objects.get().bytes) == (row.bytes, row.bytes)
    assert sent.ref == row.ref


@pytest.mark.parametrize(
    "source",
    [
        "for (let i = 0; i < 9; i++) await tools.tests.echo({value: 'x'.repeat(4e5)}); return 1",
        "for (let i = 0; i < 99; i++) { text('x'.repeat(4e4)); await tools.tests.echo({value: 1}) } return 1",
        "return 'x'.repeat(3.9e6)",
        "text('x'.repeat(3.9e6)); return 1",
    ],
)
def test_over_its_limit_it_fails(caller, runtime, narrow, source):
    sent = send(caller, source=source, limits={"result_bytes": 4 * MIB, "output_bytes": 4 * MIB})
    run_all(runtime)
    assert end(sent) == ("failed", "BYTES_LIMIT")
    row = Execution.objects.get()
    assert (row.sealed_result, row.retryable) == (None, False)


def test_within_it_nothing_is_refused(caller, runtime, narrow):
    sent = send(caller, source="for (let i = 0; i < 3; i++) await tools.tests.echo({value: 'x'.repeat(4e5)}); return 1")
    run_all(runtime)
    assert end(sent) == ("succeeded", "")


def test_an_effect_that_happened_is_written_whatever_it_comes_to(caller, runtime, marker, narrow):
    source = """await tools.tests.echo({value: 'x'.repeat(1.45e6)}).catch(() => 0);
        await tools.call('tests.marker', {text: 'a'}); return 'x'.repeat(1e6)"""
    sent = send(caller, source=source, limits={"input_bytes": 2 * MIB})
    run_all(runtime)
    assert end(sent) == ("failed", "BYTES_LIMIT")
    assert Execution.objects.get().side_effect == "applied"
    assert len(marker.read_text().splitlines()) == 1


def test_a_caller_may_store_so_much_a_day(caller, runtime, settings):
    send(caller, "k1", source="return 1", input="x" * 1000)
    run_all(runtime)
    settings.FORGE_CALLER_DAY_BYTES = 1000
    with pytest.raises(TooMany) as full:
        send(caller, "k2", source="return 1")
    assert full.value.facts["rule"] == "bytes.day"
    assert 0 < full.value.facts["retry_after"] <= 86_401
    assert Execution.objects.count() == 1
    assert send(caller, "k1", source="return 1", input="x" * 1000).status == "succeeded"  # what is there stays there
    CallerDay.objects.update(day=clock.now().date() - timedelta(days=1))
    send(caller, "k2", source="return 1")


def test_and_so_much_in_all_while_it_is_kept(caller, settings):
    settings.FORGE_CALLER_BYTES, settings.FORGE_RETENTION_DAYS = 1000, 10
    day = CallerDay.objects.create(caller=caller, day=clock.now().date() - timedelta(days=10), bytes=1000)
    with pytest.raises(TooMany) as full:
        send(caller, "k1", source="return 1")
    assert full.value.facts["rule"] == "bytes.all"
    CallerDay.objects.filter(pk=day.pk).update(day=clock.now().date() - timedelta(days=11))
    send(caller, "k1", source="return 1")
