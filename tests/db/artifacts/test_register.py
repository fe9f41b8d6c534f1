from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction

from artifacts import selectors
from artifacts.models import Artifact
from artifacts.services import Register, register, store
from forge_project.kernel.errors import Conflict, Denied, Invalid, Missing
from tests.db.approvals import at_once

pytestmark = pytest.mark.django_db
REF, OTHER = "art_" + "1" * 32, "art_" + "2" * 32
SCOPES = {"task": "t1", "node": "n1"}


@pytest.fixture(autouse=True)
def _root(settings, tmp_path):
    settings.FORGE_VAR = tmp_path


def record(content=b"diff", **changes):
    asked = Register(
        kind="patch-proposal",
        owner="user:robot",
        sha256=store(content),
        bytes=len(content),
        mime="text/x-diff",
        workspace="demo",
        scopes=SCOPES,
        metadata={"paths": ["a.txt"]},
        execution_ref="exec-1",
        call_id="exec-1:forge:1",
        operation_id="toolop_1",
    )
    return replace(asked, **changes)


def test_an_exact_repeat_is_the_same_row():
    first = register(record())
    again = register(record())
    assert (again.ref, again.created_at, Artifact.objects.count()) == (first.ref, first.created_at, 1)
    assert (first.ref[:4], len(first.ref)) == ("art_", 36)
    assert selectors.content(first) == b"diff"


@pytest.mark.parametrize(
    "change",
    [
        {"content": b"other"},
        {"mime": "text/plain"},
        {"workspace": "other"},
        {"scopes": {}},
        {"metadata": {}},
        {"execution_ref": "exec-2"},
        {"call_id": "exec-1:forge:2"},
        {"stream": "stdout"},
        {"owner": "user:eve"},
        {"kind": "report"},
    ],
)
def test_one_ref_never_names_two_things(change):
    first = register(record(ref=REF))
    with pytest.raises(Conflict) as refusal:
        register(record(ref=REF, **change))
    assert refusal.value.code == "IDEMPOTENCY_CONFLICT"
    assert list(Artifact.objects.all()) == [first]


def test_derived_refs_differ_by_owner_operation_kind_and_ordinal():
    refs = {register(record(**change)).ref for change in (
        {}, {"owner": "user:eve"}, {"operation_id": "toolop_2"}, {"kind": "report"}, {"ordinal": 1},
    )}  # fmt: skip
    assert len(refs) == 5


def test_without_an_operation_each_is_its_own():
    assert register(record(operation_id="")).ref != register(record(operation_id="")).ref


def test_a_batch_is_all_or_nothing():
    register(record(ref=REF))
    with pytest.raises(Conflict), transaction.atomic():
        register(record(ref=OTHER))
        register(record(ref=REF, content=b"other"))
    assert Artifact.objects.count() == 1


def test_the_database_changes_no_record():
    register(record())
    with pytest.raises(IntegrityError), transaction.atomic():
        Artifact.objects.update(mime="text/html")


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "secret"},
        {"scopes": {"caller": "x"}},
        {"sha256": "no"},
        {"mime": "a\0b"},
        {"ref": "art_1"},
        {"stream": "A B"},
    ],
)
def test_faults(fault):
    with pytest.raises(Invalid):
        register(record(**fault))


def test_reading_needs_the_owner_and_the_scopes():
    ref = register(record()).ref
    assert selectors.get_for("user:robot", ref, SCOPES | {"role": "r"}, workspace="demo").ref == ref
    for given, code in (
        (("user:robot", "art_0", SCOPES), "NOT_FOUND"),
        (("user:eve", ref, SCOPES), "IDENTITY_INVALID"),
        (("user:robot", ref, {"task": "t1"}), "SCOPE_DENIED"),
        (("user:robot", ref, SCOPES | {"node": "n2"}), "SCOPE_DENIED"),
    ):
        with pytest.raises((Missing, Denied)) as refusal:
            selectors.get_for(*given)
        assert refusal.value.code == code
    with pytest.raises(Denied):
        selectors.get_for("user:robot", ref, SCOPES, workspace="other")


def test_summary_and_streams():
    assert selectors.summary() == selectors.Summary(total=0, by_kind={}, latest=None)
    out = register(record(kind="output", stream="stdout"))
    last = register(record())
    register(record(owner="user:eve", execution_ref="exec-2"))
    assert selectors.summary("user:robot") == selectors.Summary(
        total=2, by_kind={"output": 1, "patch-proposal": 1}, latest=last.created_at
    )
    assert (selectors.of_execution("exec-1"), selectors.of_execution("exec-1", "stdout")) == ([out, last], [out])
    assert (selectors.scopes_of(out), selectors.metadata_of(out)) == (SCOPES, {"paths": ["a.txt"]})


@pytest.mark.django_db(transaction=True)
def test_two_at_once_with_one_ref():
    for n in range(20):
        same = at_once(*[lambda n=n: register(record(ref=f"art_a{n:031x}"))] * 2)
        assert [one.ref for one in same] == [f"art_a{n:031x}"] * 2
        ended = at_once(*[lambda m=m, n=n: register(record(ref=f"art_b{n:031x}", mime=m)) for m in ("a/b", "c/d")])
        assert sorted(type(one).__name__ for one in ended) == ["Artifact", "Conflict"]
