"""ETag and If-None-Match on GET executions/<ref>/"""

import pytest

from tests.db.api import BASE, get, post
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)


def again(client, ref, known):
    return client.get(f"{BASE}/executions/{ref}/", HTTP_IF_NONE_MATCH=known)


def test_what_the_client_has_is_not_sent_again(api, done):
    first = get(api, f"/executions/{done}/")
    for known in (first["ETag"], f'"other", W/{first["ETag"]}', "*"):
        answer = again(api, done, known)
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", first["ETag"])


@pytest.mark.parametrize("known", ['"other"', "", "x", '"', "\x7f"])
def test_anything_else_is_the_record(api, done, known):
    answer = again(api, done, known)
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")


def test_it_changes_with_the_record(api, runtime):
    ref = post(api, {"source": "return 1"}).json()["execution_ref"]
    queued = get(api, f"/executions/{ref}/")["ETag"]
    assert again(api, ref, queued).status_code == 304
    run_all(runtime)
    assert again(api, ref, queued).json()["result"] == 1


def test_readers_who_are_shown_less_have_another(api, operator, runtime):
    secret = "ghp_" + "a1B2" * 9
    ref = post(api, {"source": f"return {{token: '{secret}'}}"}).json()["execution_ref"]
    run_all(runtime)
    assert get(api, f"/executions/{ref}/")["ETag"] != get(operator, f"/executions/{ref}/")["ETag"]
