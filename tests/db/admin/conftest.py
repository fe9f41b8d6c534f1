"""One of each role, all of them staff; a robot whose account somebody put into the groups of people."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from approvals.models import Agent
from forge_project.ledger.verify import verify
from tests.db.approvals import pending
from tests.people import person


@pytest.fixture(autouse=True)
def _quick_and_clean(request, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    marker = request.node.get_closest_marker("django_db")
    request.getfixturevalue("transactional_db" if marker.kwargs.get("transaction") else "db")
    yield
    assert verify().findings == []


@pytest.fixture
def ann(_quick_and_clean):
    return person("ann", "approvers")


@pytest.fixture
def olga(_quick_and_clean):
    return person("olga", "operators")


@pytest.fixture
def aude(_quick_and_clean):
    return person("aude", "auditors")


@pytest.fixture
def owen(_quick_and_clean):
    return person("owen", "approvers")


@pytest.fixture
def robo(owen):
    user = person("robo", "agents")
    Agent.objects.create(user=user, owner=owen)
    return user


@pytest.fixture
def staffed_agent(owen):
    user = person("sneaky", "approvers", "operators")
    Agent.objects.create(user=user, owner=owen)
    return user


@pytest.fixture
def asked(robo):
    return pending(robo)


@pytest.fixture
def logged_in():
    """A client logged in as this user, with a CSRF check as browsers meet it."""

    def as_(user, *, csrf=False):
        client = Client(enforce_csrf_checks=csrf)
        client.force_login(user)
        return client

    return as_


@pytest.fixture
def everyone(ann, olga, aude):
    assert Group.objects.count() == 4
    return {"approver": ann, "operator": olga, "auditor": aude}
