"""`person add|token`: a password is asked for, never given on the command line."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from knox.models import AuthToken

from tests.db.commands import run
from tests.people import PASSWORD, person, roles

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def says(monkeypatch):
    return lambda text: monkeypatch.setattr("sys.stdin", StringIO(text))


def test_add_gives_roles(db, says):
    roles()
    says(f"{PASSWORD}\n")
    assert run("person", "add", "ann", "--role", "approvers") == (0, "ann: approvers\n")
    ann = User.objects.get(username="ann")
    assert ann.check_password(PASSWORD)
    assert ann.is_staff
    assert ann.has_perm("approvals.decide_approval")
    assert not ann.is_superuser


@pytest.mark.parametrize(("password", "told"), [("short", "too short"), ("", "too short"), ("password1234", "common")])
def test_add_refuses_a_weak_password(db, says, password, told):
    says(f"{password}\n")
    code, said = run("person", "add", "ann")
    assert (code, told in said, User.objects.count()) == (2, True, 0)


def test_a_token_is_for_who_knows_the_password(db, says):
    person("ann", "approvers")
    says("another long password\n")
    assert run("person", "token", "ann") == (2, "this is not that person's password")
    assert AuthToken.objects.count() == 0
    says(f"{PASSWORD}\n")
    code, token = run("person", "token", "ann")
    assert (code, token.startswith("forge_"), AuthToken.objects.count()) == (0, True, 1)


def test_an_agent_is_no_person(caller, says):
    caller.set_password(PASSWORD)
    caller.save()
    says(f"{PASSWORD}\n")
    assert run("person", "token", "robo") == (2, "robo is an agent, not a person")
