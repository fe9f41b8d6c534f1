"""Wrong passwords are counted by name, before they are looked at: over the number none is, the right one neither."""

import threading

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import RequestFactory

from approvals import passwords
from approvals.models import PasswordTries
from approvals.services import guesses
from forge_project.kernel.errors import Denied, TooMany
from forge_project.ledger import selectors as ledger
from forge_project.ledger.governance import GOVERNANCE
from tests import environment
from tests.db.approvals import at_once

pytestmark = pytest.mark.django_db
RIGHT = "a long enough password"
NAMES = ["ann", "nobody-of-this-name"]


@pytest.fixture(autouse=True)
def ann(_ledger_verifies, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("ann", password=RIGHT)


def guess(name="ann", given="wrong", address=None):
    request = RequestFactory().get("/", REMOTE_ADDR=address) if address else None
    return authenticate(request, username=name, password=given)


def locked(name="ann", given=RIGHT):
    with pytest.raises(TooMany) as refused:
        guess(name, given)
    return refused.value


def told():
    said = [ledger.payload(event)["actions"]["forge"] for event in ledger.events(GOVERNANCE)]
    return [one for one in said if one["fact"] == "password.locked"]


@pytest.mark.parametrize("name", NAMES)
def test_after_five_wrong_ones_none_is_looked_at(name, turn):
    for _ in range(5):
        assert guess(name) is None
    for password in (RIGHT, "wrong"):
        refused = locked(name, password)
        assert (refused.facts["rule"], refused.facts["limit"]) == ("password.locked", 5)
        assert 299 <= refused.facts["retry_after"] <= 300
    turn(seconds=200)
    assert locked(name).facts["retry_after"] <= 100
    turn(seconds=100)
    assert (guess(name, RIGHT) is not None) == (name == "ann")
    assert len(told()) == 1


def test_others_are_not_shut_out():
    for _ in range(5):
        guess("bob")
    assert guess("ann", RIGHT).username == "ann"


def test_a_wrong_one_counts_for_five_minutes(turn):
    for _ in range(3):
        for _ in range(4):
            assert guess() is None
        turn(seconds=301)
    assert guess("ann", RIGHT).username == "ann"
    assert told() == []


def test_a_right_one_takes_no_place_and_frees_no_other():
    for _ in range(4):
        guess()
    for _ in range(9):
        assert guess("ann", RIGHT).username == "ann"
    guess()
    locked()


def test_what_is_empty_is_no_guess():
    for _ in range(9):
        assert guess("ann", "") is None
        assert guess("", "x") is None
        assert guess("a\0b", "x") is None
    assert not PasswordTries.objects.exists()


def test_an_account_that_is_closed_is_no_other_than_one_that_is_not_there(ann):
    User.objects.update(is_active=False)
    for _ in range(5):
        assert guess("ann", RIGHT) is None
    locked()


def test_the_lock_out_is_a_fact_of_governance_without_what_was_typed():
    for name, address in (("ann", "10.0.0.7"), ("my secret pass phrase", "10.0.0.8")):
        for _ in range(5):
            guess(name, address=address)
    for _ in range(3):
        locked()
    by, unknown = told()
    assert (by["account"], by["actor"], by["wrong"]) == ("user:ann", "address:10.0.0.7", 5)
    assert (unknown["account"], unknown["actor"]) == ("", "address:10.0.0.8")
    assert by.keys() == unknown.keys()
    stored = repr([*ledger.events(GOVERNANCE), *map(ledger.payload, ledger.events(GOVERNANCE))])
    rows = repr(list(PasswordTries.objects.values()))
    assert "secret pass" not in stored + rows
    assert "ann" not in rows


def test_at_a_terminal_who_runs_it_is_named():
    for _ in range(5):
        guess()
    assert told()[0]["actor"].startswith("os:")


def test_a_process_that_dies_while_it_looks_leaves_the_place_taken(turn):
    for _ in range(5):
        guesses.take("ann")
    assert locked().facts["retry_after"] == 1
    turn(seconds=300)
    assert guess("ann", RIGHT).username == "ann"
    assert told() == []


@pytest.mark.parametrize("right", [True, False])
def test_one_that_was_looked_at_for_longer_than_any_counts(turn, right):
    place = guesses.take("ann")
    turn(seconds=301)
    guess("bob")  # sweeps
    guesses.settle(place, right=right, actor="os:op")
    for _ in range(5 - (not right)):
        assert guess() is None
    locked()


def test_rows_go_when_they_no_longer_count(turn):
    guess("ann", RIGHT)
    assert not PasswordTries.objects.exists()
    for n in range(7):
        guess(f"name-{n}")
    for _ in range(5):
        guess("ann")
    assert PasswordTries.objects.count() == 8
    turn(seconds=301)
    guess("bob")
    assert PasswordTries.objects.count() == 1


def test_somebody_elses_password_is_not_ones_own(ann):
    other = User.objects.create_user("bob", password="another long password")
    passwords.check(ann, RIGHT)
    with pytest.raises(Denied) as refused:
        passwords.check(other, RIGHT)
    assert refused.value.facts["rule"] == "approval.password"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", NAMES)
def test_twenty_at_once_get_no_more_looked_at_than_there_are_places(name, monkeypatch, turn):
    looked, real, lock = [], passwords.ModelBackend.authenticate, threading.Lock()

    def look(self, request, **given):
        with lock:
            looked.append(given["username"])
        return real(self, request, **given)

    monkeypatch.setattr(passwords.ModelBackend, "authenticate", look)
    for n in range(1, 1 + (environment.ROUNDS or 10)):
        looked.clear()
        ended = at_once(*[lambda k=k: guess(name, f"wrong {k}") for k in range(20)])
        assert all(one is None or isinstance(one, TooMany) for one in ended), ended
        assert len(looked) == sum(one is None for one in ended) <= 5
        while len(looked) < 5:  # some found all places taken by those being looked at just then
            guess(name)
        locked(name)
        assert (len(looked), len(told())) == (5, n)
        turn(seconds=301 * n)


@pytest.mark.django_db(transaction=True)
def test_the_right_one_among_wrong_ones_at_once():
    """It gives back its own place only: with any order no more than five wrong ones are looked at."""
    for _ in range(environment.ROUNDS or 10):
        ended = at_once(*[lambda k=k: guess("ann", RIGHT if k == 3 else "wrong") for k in range(20)])
        assert sum(one is None for one in ended) <= 5
        assert all(one is None or isinstance(one, TooMany | User) for one in ended), ended
        PasswordTries.objects.all().delete()


def test_trouble_while_it_is_looked_at_takes_no_place(ann, monkeypatch):
    def broken(*_, **__):
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(ModelBackend, "authenticate", broken)
        for _ in range(7):
            with pytest.raises(OperationalError):
                authenticate(None, username=ann.username, password="whatever it is")
    assert PasswordTries.objects.get().tries == []
