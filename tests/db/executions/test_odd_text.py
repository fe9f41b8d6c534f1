"""U+0000, lone surrogates and giants in every place a script can put text: kept, escaped or refused, never a crash."""

import pytest

from executions.models import Execution
from executions.services.sealed import unseal
from tests.db.executions import run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
ODD = ['"a\\0b"', '"\\ud800"', '"\\u202e\\ufeff"', '"x".repeat(20000)', '"é😀\\u2028"']
PLACES = [
    "text({}); return 1",
    "console.error({}); return 1",
    "progress({}, {{completed: 1, total: 2}}); await tools.call('file.list', {{}}).catch(() => 0); return 1",
    "await tools.call({}, {{}}).catch(() => 0); return 1",
    "await tools.call('file.read', {{path: {}}}).catch(() => 0); return 1",
    "await tools.call('file.read', {{[{}]: 1}}).catch(() => 0); return 1",
    "await tools.call('file.write', {{path: 'a', content: {}}}, {{purpose: {}}}); return 1",
    "await tools.call('file.list', {{}}, {{purpose: {}}}).catch(() => 0); return 1",
    "state.set({}, 1); return 1",
    "state.set('k', {}); return 1",
    "throw new Error({})",
    "const e = new Error('x'); e.name = {}; throw e",
    "return {}",
    "return {{[{}]: 1}}",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("odd", ODD)
def test_odd_text_never_breaks_an_attempt(caller, workspace, runtime, settings, place, odd):
    settings.FORGE_LINGER_MS = 0
    source = place.replace("{{", "\1").replace("}}", "\2").replace("{}", odd).replace("\1", "{").replace("\2", "}")
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert done.status in ("succeeded", "failed", "waiting_approval"), (done.status, done.error_code)
    assert done.error_code != "ISOLATE_FAILURE"
    if done.status == "succeeded" and place.endswith("return 1"):
        assert unseal(done.sealed_result) == 1
