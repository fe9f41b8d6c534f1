"""Random scripts on the real ledger, their worker dead at a random place: no effect twice, and the undisturbed end."""

import random
from collections import Counter

import pytest

from executions.models import Execution
from executions.services.reconcile import reconcile
from executions.services.sealed import unseal
from forge_project.kernel import clock, failpoints
from tests.db.executions import run_all, run_one, send
from tests.db.executions.test_reconcile import POINTS

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPTS = 40
# What was interrupted before it happened is asked for again, as an agent would.
HEAD = """
const out = [], name = (k) => input + ':' + k;
const mark = async (k) => {
  for (;;) {
    try { await tools.call('tests.marker', {text: name(k)}); return k }
    catch (e) { if (e.code !== 'INTERRUPTED') throw e }
  }
};
const echo = async (value) => {
  for (;;) {
    try { return (await tools.tests.echo({value})).value }
    catch (e) { if (e.code !== 'INTERRUPTED') throw e }
  }
};
"""


def script(seed):
    """Calls alone, together and racing; state, clock, random, the catalog, errors caught and thrown."""
    chance = random.Random(seed)
    lines = [HEAD]
    for k in range(chance.randint(2, 5)):
        lines.append(
            chance.choice(
                [
                    f"out.push(await mark({k}), await echo(Math.random()));",
                    f"out.push(await Promise.all([mark('{k}a'), echo([{k}, Date.now()]), mark('{k}b')]));",
                    f"await Promise.race([echo({k}), mark('{k}r')]); out.push('raced');",
                    f"out.push((await Promise.allSettled([echo({k}), tools.call('no.such')])).map((x) => x.status));",
                    f"state.set('k{k}', [await echo({k}), state.get('k{k - 1}') ?? 0]); out.push(state.get('k{k}'));",
                    f"try {{ await tools.call('no.such', {k}) }} catch (e) {{ out.push(e.code) }}",
                    f"out.push((await catalog.search('file', {{limit: {k + 1}}})).map((c) => c.name));",
                    f"text('at {k} ' + Math.random()); console.log(out.length); out.push(await mark('{k}t'));",
                    f"out.push(await mark({k})); if (Math.random() < 0.3) throw new Error('step {k}');",
                ]
            )
        )
    return "\n".join([*lines, "return [out, Math.random(), Date.now()];"])


def ended(ref):
    row = Execution.objects.get(pk=ref)
    output = "".join(row.output.filter(stream="output").order_by("offset").values_list("text", flat=True))
    return (
        row.status,
        row.error_code,
        row.error_message,
        unseal(row.sealed_result) if row.sealed_result else None,
        output,
    )


@pytest.fixture
def passed(monkeypatch):
    """How often each failpoint was passed."""
    counts = Counter()
    real = failpoints.reach
    monkeypatch.setattr(failpoints, "reach", lambda name: (counts.update([name]), real(name))[1])
    return counts


def test_killed_at_a_random_place_it_ends_as_undisturbed(caller, runtime, marker, settings, monkeypatch, passed):
    settings.FORGE_LINGER_MS = 0
    monkeypatch.setattr(clock, "millis", lambda _: 1_700_000_000_000)
    deaths = 0
    for seed in range(SCRIPTS):
        monkeypatch.setattr("secrets.token_hex", lambda count, seed=seed: f"{seed:0{2 * count}x}")
        source, chance = script(seed), random.Random(seed)
        passed.clear()
        calm = send(caller, f"calm{seed}", source=source, input=f"c{seed}", session_id=f"c{seed}")
        run_all(runtime)
        sent = send(
            caller, f"hurt{seed}", source=source, input=f"h{seed}", session_id=f"h{seed}", interruption="resume"
        )
        point = chance.choice([point for point in POINTS if passed[point]])
        nth = chance.randint(1, passed[point])
        try:
            with failpoints.crash_at(point, nth):
                run_one(runtime)
            deaths += 1
        except AssertionError:  # another order of threads: it had fewer of them
            pass
        reconcile(runtime)
        run_all(runtime)
        assert ended(sent.ref) == ended(calm.ref), (seed, point, nth)
    assert deaths > SCRIPTS / 2
    lines = marker.read_text().splitlines() if marker.exists() else []
    marks = Counter(line.split(" ", 1)[1] for line in lines)
    assert set(marks.values()) == {1}
    calm_marks, hurt_marks = ({mark[1:] for mark in marks if mark[0] == who and mark[-1] != "r"} for who in "ch")
    assert calm_marks == hurt_marks  # a race's loser may be cancelled when the script ends
