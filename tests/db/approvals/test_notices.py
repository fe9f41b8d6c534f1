"""Mail and reminders: who is told, when, how often, and that no mail has an agent's words."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail

from approvals import ports
from approvals.models import Notice
from approvals.policy import Verdict
from approvals.services.notices import announce, remind_due, send_due
from approvals.states import Decision, NoticeKind
from forge_project.kernel import clock
from tests.db.approvals import agent, answer, at_once, page, pending, person

pytestmark = pytest.mark.django_db
WORDS = "ring me at evil.example"


@pytest.fixture(autouse=True)
def _mail(settings):
    settings.FORGE_EMAIL_FROM, settings.FORGE_PUBLIC_URL = "forge@example.org", "https://forge.example/"
    User.objects.update(email="")


@pytest.fixture
def people(robot, owner, ada, bob):
    for user in User.objects.all():
        user.email = f"{user.username}@example.org"
        user.save()


def asked(robot, name="exec-1", **changes):
    row = pending(robot, name, **changes)
    with page(name, robot) as held:
        announce(held, row, NoticeKind.ASKED)
    return row


def sent():
    """Who was told, since the last look."""
    told = sorted(one.to[0].partition("@")[0] for one in mail.outbox)
    mail.outbox.clear()
    return told


def test_who_may_decide_is_told_once(robot, people, nobody):
    row = asked(robot, on_behalf_of=person("may", email="may@example.org"))
    person("gone", email="gone@example.org", is_active=False)
    agent("other", nobody)
    assert send_due() == 1
    assert all(row.ref in one.body and one.from_email == "forge@example.org" for one in mail.outbox)
    assert f"https://forge.example/admin/approvals/approval/{row.ref}/change/" in mail.outbox[0].body
    assert sent() == ["ada", "bob"]  # neither owner, nor who it is asked for, nor agents
    assert (send_due(), sent()) == (0, [])


def test_no_word_of_the_agents_is_in_it(robot, people):
    said = {"purpose": WORDS, "target": WORDS, "sentence": WORDS, "input": {"path": WORDS},
            "preview": {"kind": "text", "text": WORDS}, "workspace": WORDS}  # fmt: skip
    asked(robot, **said)
    send_due()
    assert mail.outbox
    assert not [one for one in mail.outbox if "evil" in f"{one.subject}{one.body}{one.message()}"]


def test_the_rules_group_and_who_has_not_voted(robot, people, ada, bob):
    bob.groups.add(Group.objects.create(name="seniors"))
    ada.groups.add(Group.objects.get(name="seniors"))
    two = Verdict(decision=Decision.REVIEW, rule="two", version=1, reason="", votes=2, approvers="seniors")
    row = asked(robot, verdict=two)
    person("cy", email="cy@example.org")
    answer(row, ada)
    send_due()
    assert sent() == ["bob"]


def test_what_was_decided_meanwhile_is_not_sent(robot, people, ada):
    answer(asked(robot), ada)
    assert (send_due(), sent(), Notice.objects.filter(sent_at=None).count()) == (0, [], 0)


def test_reminders_at_half_and_at_nine_tenths(robot, people, turn, monkeypatch):
    heard = []
    monkeypatch.setattr(ports, "announced", lambda page, row, kind: heard.append(kind))
    asked(robot)
    send_due()
    sent()
    for hours, kind in ((11.9, None), (0.2, "half"), (9.4, None), (0.2, "late"), (1, None)):
        turn(hours=hours)
        assert remind_due() == (kind is not None)
        assert remind_due() == 0
        send_due()
        assert sent() == (["ada", "bob"] if kind else [])
    assert heard == ["asked", "half", "late"]


def test_who_comes_late_reminds_once(robot, people, turn):
    asked(robot)
    turn(hours=23)
    assert (remind_due(), remind_due()) == (1, 0)
    assert list(Notice.objects.values_list("kind", flat=True).order_by("kind")) == ["asked", "late"]


def test_without_a_sender_nothing_is_sent(robot, people, settings):
    settings.FORGE_EMAIL_FROM = ""
    asked(robot)
    assert (send_due(), mail.outbox) == (0, [])


def test_a_mail_server_that_is_not_there_is_tried_again(robot, people, settings, turn):
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1", 1,
    )  # fmt: skip
    asked(robot)
    assert send_due() == 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert (send_due(), sent()) == (0, [])  # still taken by who tried
    turn(seconds=121)
    assert (send_due(), sent()) == (1, ["ada", "bob"])


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_mail(robot, people):
    for n in range(5):
        asked(robot, f"exec-{n}")
    at_once(send_due, send_due, send_due)
    assert sent() == ["ada"] * 5 + ["bob"] * 5
    assert not Notice.objects.filter(sent_at=None).exists()
    assert clock.now() - Notice.objects.latest("sent_at").sent_at < timedelta(minutes=1)
