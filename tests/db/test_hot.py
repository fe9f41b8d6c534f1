"""Plain statements read and write what the ORM does: the same values, the same errors, on both databases."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, NotSupportedError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from approvals.models import Agent, Approval
from executions.bounds import CallerLoad, Hold
from executions.models import Attempt, Call, Execution, Signal, Worker, Workspace
from forge_project.kernel import clock, hot, plain
from forge_project.ledger.models import Invocation
from tests.db.executions import run_all, send
from tests.db.executions.conftest import caller, folder, runtime, workspace, zygotes  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)
MODELS = [Execution, Call, Attempt, Approval, Signal, Worker, Workspace, Agent, User, CallerLoad, Invocation]


@pytest.fixture
def lived(caller, workspace, folder, runtime):  # noqa: F811
    """Two executions with everything they leave: one has ended, one waits for a person."""
    (folder / "a").write_text("hello")
    send(caller, source="progress('half'); return await tools.file.read({path: 'a'})", workspace="ws")
    send(caller, "k2", capability="file.write", input={"path": "a", "content": "x"}, workspace="ws", task_id="t")
    run_all(runtime)


def values_of(row):
    shown = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return {name: bytes(value) if isinstance(value, memoryview) else value for name, value in shown.items()}


@pytest.mark.parametrize("model", MODELS)
def test_a_row_is_what_the_orm_reads(lived, model):
    seen = model.objects.order_by("pk")
    assert seen
    for row in seen:
        (found,) = hot.rows(model, {model._meta.pk.attname: row.pk})
        assert values_of(found) == values_of(row)
        assert found == row
        assert not found._state.adding


@pytest.mark.rows_by_hand
@pytest.mark.parametrize("model", [Call, Attempt, Signal])
def test_what_it_inserts_is_what_the_orm_reads(lived, model):
    was = values_of(model.objects.order_by("pk").first())
    copy = model(**was)
    copy.pk = None if isinstance(copy.pk, int) else f"{copy.pk[:-4]}copy"
    own = {name for name in ("n", "number", "call_id", "operation_id") if name in was}
    for name in own:
        setattr(copy, name, was[name] + 7 if isinstance(was[name], int) else f"{was[name][:-1]}x")
    assert hot.insert(copy) is True
    read = values_of(model.objects.get(pk=copy.pk))
    changed = own | {model._meta.pk.attname}
    assert {name: read[name] for name in read.keys() - changed} == {name: was[name] for name in was.keys() - changed}
    with transaction.atomic():
        model.objects.filter(pk=copy.pk)._raw_delete("default")


def test_conditions(lived):
    ended, waiting = Execution.objects.order_by("created_at")
    assert hot.values(Execution, ("ref",), {"status": ("succeeded", "failed")}) == [(ended.ref,)]
    assert hot.values(Execution, ("ref",), {"status": ()}) == []
    assert hot.values(Execution, ("ref",), {"finished_at": None}) == [(waiting.ref,)]
    assert hot.values(Execution, ("ref",), {"finished_at": hot.Not(None)}) == [(ended.ref,)]
    assert hot.values(Execution, ("ref",), {"ref": hot.Not(ended.ref)}) == [(waiting.ref,)]
    assert hot.values(Execution, ("ref",), {"turns": hot.AtMost(0)}) == [(waiting.ref,)]
    assert hot.values(Execution, ("ref",), {"turns": hot.Above(0)}) == [(ended.ref,)]
    assert hot.values(Execution, ("ref",), {"ref": hot.Not((ended.ref, "x"))}) == [(waiting.ref,)]
    assert len(hot.values(Execution, ("ref",), {"ref": hot.Not(())})) == 2
    assert [row.ref for row in hot.rows(Execution, {}, order="created_at")] == [ended.ref, waiting.ref]
    assert hot.one(Execution, {"ref": "exec_none"}) is None
    assert hot.exists(Execution, {"ref": ended.ref, "status": "succeeded"})
    assert not hot.exists(Execution, {"ref": ended.ref, "status": "failed"})


def test_columns_left_out_are_read_on_demand(lived):
    row = hot.one(Execution, {"status": "succeeded"}, without=frozenset(("sealed_result",)))
    assert "sealed_result" in row.get_deferred_fields()
    assert row.sealed_result is not None


@pytest.mark.rows_by_hand
def test_an_update_counts_its_rows(lived):
    load = CallerLoad.objects.get()
    assert hot.update(CallerLoad, {"caller_id": load.pk}, {"queued": hot.Plus(3), "served_at": None}) == 1
    assert hot.update(CallerLoad, {"caller_id": load.pk}, {"queued": hot.Plus(-1)}) == 1
    assert hot.update(CallerLoad, {"caller_id": load.pk, "queued": hot.AtMost(1)}, {"queued": 9}) == 0
    load.refresh_from_db()
    assert (load.queued, load.served_at) == (2, None)


def test_what_is_there_already(lived):
    load = CallerLoad(caller_id=CallerLoad.objects.get().pk)
    assert hot.insert(load, ignore=True) is False
    with pytest.raises(IntegrityError), transaction.atomic():
        hot.insert(load)


def test_a_check_constraint_is_django_s_error(lived):
    with pytest.raises(IntegrityError), transaction.atomic():
        hot.insert(Hold(kind="caller", target="", reason="r", placed_by="p", placed_at=clock.now()))


def test_a_broken_transaction_is_refused(lived):
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            plain.one("SELECT 1", [])


def test_who_listens_hears_every_statement(lived):
    with CaptureQueriesContext(connection) as heard:
        hot.exists(Execution, {"ref": "exec_none"})
    assert "executions_execution" in heard[0]["sql"]


def test_postgresql_has_it_prepared(lived):
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL prepares statements; this is SQLite")
    for _ in range(3):
        assert plain.one("SELECT %s::int + 40", [2]) == (42,)
    assert plain.rows(
        "SELECT name FROM pg_prepared_statements WHERE statement LIKE %s AND generic_plans + custom_plans = 3",
        ["SELECT $1::int + 40"],
    )


def test_a_column_that_was_changed_costs_one_statement(db):
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL prepares statements; this is SQLite")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changed (a varchar(5))")
    try:
        assert plain.rows("SELECT a FROM changed", []) == []
        migrating = connection.copy()  # somebody else's connection: its ALTER TABLE is no news to this one's driver
        with migrating.cursor() as cursor:
            cursor.execute("ALTER TABLE changed ALTER a TYPE varchar(9)")
        migrating.close()
        with pytest.raises(NotSupportedError):
            plain.rows("SELECT a FROM changed", [])
        connection.close()
        assert plain.rows("SELECT a FROM changed", []) == []
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE changed")
