"""Who is let in, and how the rest is told so."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from tests.db.api import BASE, client_of, get, post, refused
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db
ONE, APPROVAL = f"/executions/exec_{'0' * 32}/", f"/approvals/appr_{'0' * 32}/"
SIGNAL, HOOK = f"/signals/sig_{'0' * 32}/", f"/webhooks/hook_{'0' * 32}/"
EVERY = [
    ("get", "/executions/"), ("post", "/executions/"), ("post", "/executions/lookup/"), ("get", ONE),
    ("get", f"{ONE}calls/"), ("get", f"{ONE}attempts/"), ("post", f"{ONE}analysis/"),
    ("get", f"{ONE}events/"), ("get", f"{ONE}output/"), ("post", f"{ONE}cancel/"),
    ("get", "/approvals/"), ("get", APPROVAL), ("post", f"{APPROVAL}decide/"), ("post", f"{APPROVAL}revoke/"),
    ("get", "/webhooks/"), ("post", "/webhooks/"), ("get", HOOK), ("delete", HOOK),
    ("get", "/signals/"), ("post", f"{SIGNAL}acknowledge/"),
    ("get", "/capabilities/"), ("get", "/capabilities/file.read/"),
    ("get", "/sessions/sid/events/"), ("get", "/sessions/sid/runs/rid/events/"),
    ("post", "/sessions/sid/runs/rid/events/"), ("post", "/sessions/sid/runs/rid/events:batch/"),
    ("post", "/sessions/sid/runs/rid/partials/"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "path"), EVERY)
def test_nobody_gets_nothing(client, verb, path):
    answer = getattr(client, verb)(BASE + path)
    refused(answer, 401, "IDENTITY_INVALID")
    assert answer["WWW-Authenticate"] == "Token"


def test_an_expired_token_is_401(caller):
    refused(get(client_of(caller, expiry=timedelta(seconds=-1)), "/executions/"), 401, "IDENTITY_INVALID")


def test_an_inactive_account_is_401(api, caller):
    User.objects.filter(pk=caller.pk).update(is_active=False)
    refused(get(api, "/executions/"), 401, "IDENTITY_INVALID")
    refused(post(api, {"source": "1"}), 401, "IDENTITY_INVALID")


def test_an_inactive_accounts_session_is_401(approver):
    client = APIClient()
    client.login(username="ann", password=PASSWORD)
    assert get(client, "/executions/").status_code == 200
    User.objects.filter(pk=approver.pk).update(is_active=False)
    refused(get(client, "/executions/"), 401, "IDENTITY_INVALID")


@pytest.mark.parametrize(
    "header",
    ["Token", "Token ", "Token x", "Token a b", "Token \xff\xfe", "Token é", "\xff", "Token " + "x" * 5000, "Bearer x",
     "Basic eDp5", "Token forge_\0", "Token \x00", ""],
)  # fmt: skip
def test_any_other_header_is_401(db, header):
    refused(APIClient().get(f"{BASE}/executions/", HTTP_AUTHORIZATION=header), 401, "IDENTITY_INVALID")


def test_a_session_posts_only_with_csrf(caller):
    caller.set_password(PASSWORD)
    caller.save()
    client = APIClient(enforce_csrf_checks=True)
    client.login(username="robo", password=PASSWORD)
    refused(post(client, {"source": "1"}), 403, "SCOPE_DENIED")
    client.cookies["csrftoken"] = "b" * 32
    client.credentials(HTTP_X_CSRFTOKEN="b" * 32)
    assert post(client, {"source": "1"}).status_code == 202


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=\xff", "text/plain"])
def test_a_sessions_odd_body_is_4xx(caller, kind):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(caller)
    assert client.generic("POST", f"{BASE}/executions/", b"--x\r\n\xff", kind).status_code in (400, 403)


@pytest.mark.parametrize(
    "cookie", ['"\\000aaaaaaaaaaaa"', "a" * 5000, "é" * 20, '"\\377\\376aaaaaaaa"', "../../etc/passwd"]
)
def test_any_other_session_cookie_is_401(db, cookie):
    answer = APIClient().get(f"{BASE}/executions/", HTTP_COOKIE=f"sessionid={cookie}; csrftoken={cookie}")
    refused(answer, 401, "IDENTITY_INVALID")
