"""The crash matrix by failpoint, in process: after any death everything ends, once, and the record is the truth."""

import pytest

from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Execution
from executions.services import catalog
from executions.services.reconcile import reconcile
from forge_project.kernel import failpoints
from tests import matrix, modes
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
MODES = [modes.Check, modes.Post, modes.Job, modes.Fire, modes.Peek]


@pytest.fixture
def world(tmp_path, monkeypatch, caller, approver, settings):
    from executions.models import Workspace, WorkspaceAccess

    made = matrix.World(tmp_path)
    row = Workspace.objects.create(name="ws", path=str(made.folder), hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=row, user=caller)
    monkeypatch.setenv("FORGE_TEST_MARKER", str(made.marker))
    settings.FORGE_LINGER_MS = 0
    for n, glob in enumerate(("modes.*", "tests.*", "patch.*")):
        save_rule(SaveRule(name=f"allow{n}", priority=1, capability=glob, decision="ALLOW", author=approver))
    for kind in MODES:
        catalog.registry().add(kind())
    yield made
    for kind in MODES:
        del catalog.registry()._by_name[kind.name]


def proposal(case, caller, runtime):
    """The stored proposal that `patch.apply` is asked to apply."""
    if case.kind.capability != "patch.apply":
        return ""
    body = {"capability": "artifact.patch-proposal.materialize", "input": {"diff": case.diff}, "workspace": "ws"}
    sent = send(caller, f"{case.key}_proposal", **body)
    run_all(runtime)
    from artifacts.models import Artifact

    return Artifact.objects.get(execution_ref=sent.ref).ref


def through(case, world, caller, approver, runtime):
    """One case: asked for, approved, and dead at its place; what is open then is settled by whoever comes next."""
    body = case.body(proposal(case, caller, runtime))

    def sent():
        return send(caller, case.key, **body).ref

    if case.point in matrix.ACCEPT:
        with failpoints.crash_at(case.point):
            sent()
    ref = sent()  # the client asks again, with the same key
    if case.kind.approved:
        run_all(runtime)
        answer(Approval.objects.get(execution_ref=ref), approver)
    if case.point not in matrix.ACCEPT:
        with failpoints.crash_at(case.first_death):
            run_one(runtime)
        seen = matrix.look(case.key)
        assert seen["dispatches"] or not world.effects(case, seen["operation"], seen["artifacts"]), "T1 comes first"
    if case.point == "reconcile.middle":
        with failpoints.crash_at(case.point):
            reconcile(runtime)
    reconcile(runtime)
    run_all(runtime)
    return ref


@pytest.mark.parametrize("point", matrix.POINTS)
def test_every_kind_of_effect(world, caller, approver, runtime, point):
    done = []
    for kind in matrix.KINDS:
        case = matrix.Case(point, kind)
        if not case.reached:
            continue
        ref = through(case, world, caller, approver, runtime)
        seen = matrix.look(case.key)
        effects = world.effects(case, seen["operation"], seen["artifacts"])
        assert matrix.problems(case, seen, effects) == [], (case.key, seen)
        assert (seen["status"], seen["error"]) == matrix.expected(case), (case.key, seen)
        done.append(ref)
    assert reconcile(runtime) == []
    assert Execution.objects.filter(pk__in=done).count() == len(done)


def test_the_matrix_is_whole():
    """Fourteen failpoints, ten kinds of effect; what is left out is no place on that kind's road."""
    assert (len(matrix.POINTS), len(matrix.KINDS)) == (14, 10)
    assert set(matrix.POINTS) <= failpoints.NAMES
    assert len(matrix.cases()) == 140 - 7
