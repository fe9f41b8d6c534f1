"""517 naughty strings and 188 texts that are no JSON, at every endpoint that takes a body: no 5xx, no surprise."""

import json
from urllib.parse import quote

import pytest

from approvals.models import Approval, Grant
from executions.models import Execution
from executions.outbox.models import Signal, SignalKind, Webhook
from executions.outbox.tell import tell
from forge_project.kernel import clock
from forge_project.ledger.models import Event
from tests.db.approvals import asked_about, pending
from tests.db.contract.described import DESCRIPTION, check
from tests.db.contract.writes import writes
from tests.db.executions import send
from tests.people import person
from tests.sites import ROOT

pytestmark = pytest.mark.django_db
NAUGHTY = json.loads((ROOT / "tests/data/naughty-strings.json").read_text())
REJECT = json.loads((ROOT / "tests/data/json-must-reject.json").read_text())
TEMPLATES = [one.template for one in writes("", "", "", "")]


def test_no_endpoint_is_left_out():
    taking = {path for path, verbs in DESCRIPTION["paths"].items() if "post" in verbs}
    assert taking == {"/api/v1" + template for template in TEMPLATES}
    assert (len(NAUGHTY), len(REJECT)) == (517, 188)


@pytest.fixture
def world(api, ann, operator, caller, workspace, settings):
    """Something to write to, and who may."""
    settings.FORGE_CALLER_QUEUED = 10**6
    settings.FORGE_RATES = dict.fromkeys(settings.FORGE_RATES, 0)
    asked = pending(caller)
    asked_about(asked, person("ada", "approvers"))
    ref = send(caller, key="there", source="return 1").ref
    tell(Execution.objects.get(pk=ref), SignalKind.RECOVERY_RESUME)
    standing = Grant.objects.create(ref=f"grant_{'0' * 32}", source=asked, caller=caller, capability="file.write",
                                    condition="true", sentence="any", rule="default", rule_version=0, votes_needed=2,
                                    max_uses=1, seconds=60, created_at=clock.now())  # fmt: skip
    found = writes(ref, asked.pk, Signal.objects.get().pk, standing.pk)
    others = {"/approvals/{ref}/decide/": ann, "/approvals/{ref}/revoke/": ann, "/approvals/{ref}/grant/": ann,
              "/grants/{ref}/vote/": ann, "/grants/{ref}/revoke/": ann,
              "/executions/{ref}/calls/{n}/resolve/": operator}  # fmt: skip
    return {one.template: (one, others.get(one.template, api)) for one in found}


def counts():
    return [kind.objects.count() for kind in (Execution, Approval, Webhook, Event)]


@pytest.mark.parametrize("template", TEMPLATES)
def test_naughty_strings(world, template):
    one, client = world[template]
    for at, text in enumerate(NAUGHTY):
        place = one.texts[0] if at % 2 else one.texts[at // 2 % len(one.texts)]
        body = one.with_text(place, text)
        answer = client.post(one.path, body, format="json", HTTP_IDEMPOTENCY_KEY=f"k{at}")
        check("post", template, answer)


@pytest.mark.parametrize("where", ["header", "query", "path"])
def test_naughty_strings_elsewhere(api, where, settings):
    settings.FORGE_RATES = dict.fromkeys(settings.FORGE_RATES, 0)
    for text in NAUGHTY:
        if where == "query":
            for path in ("/executions/", "/signals/", "/webhooks/", "/approvals/"):
                check("get", path, api.get(f"/api/v1{path}?cursor={quote(text)}"))
                check("get", path, api.get(f"/api/v1{path}", {"limit": text}))
        elif where == "path":
            answer = api.get(f"/api/v1/sessions/{quote(text, safe='')}/runs/{quote(text, safe='')}/events/")
            assert answer.status_code < 500
            assert api.get(f"/api/v1/executions/{quote(text, safe='')}/").status_code in (404, 405)
        else:
            raw = text.encode().decode("latin-1").replace("\n", " ").replace("\r", " ")
            named = {"HTTP_IDEMPOTENCY_KEY": raw, "HTTP_X_REQUEST_ID": raw, "HTTP_TRACEPARENT": raw}
            check("post", "/executions/lookup/", api.post("/api/v1/executions/lookup/", {}, format="json", **named))


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_is_no_json_is_400(world, template):
    one, client = world[template]
    before = counts()
    for name, told in REJECT.items():
        data = told["latin-1"].encode("latin-1") if "latin-1" in told else told["repeat"].encode() * told["times"]
        if not data and not one.body:
            continue  # nothing at all is what this endpoint takes
        answer = client.generic("POST", one.path, data, "application/json", HTTP_IDEMPOTENCY_KEY="k")
        check("post", template, answer)
        assert answer.status_code == 400, (name, answer.content)
    assert counts() == before
