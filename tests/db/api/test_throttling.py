"""429 when one account asks too often, by scope."""

import os

import pytest
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from django.test import override_settings

from executions.models import Execution
from forge_project.kernel import clock
from tests import environment
from tests.db.api import BASE, get, post, refused

pytestmark = pytest.mark.django_db
REDIS = environment.BROKER_URL if environment.BROKER_URL.startswith("redis://") else ""


@pytest.fixture(autouse=True)
def _rates(settings):
    cache.clear()
    settings.FORGE_RATES = {"read": 3, "write": 2, "submit": 1, "decide": 1, "webhook": 1}
    yield
    cache.clear()


def limited(answer, scope, limit):
    facts = refused(answer, 429, "QUEUE_FULL")
    assert (facts["rule"], facts["limit"]) == (f"rate.{scope}", limit)
    assert 1 <= int(answer["Retry-After"]) == facts["retry_after"] <= 60


def test_by_scope_and_account(api, other, workspace):
    assert post(api, {"source": "1"}, "1").status_code == 202
    limited(post(api, {"source": "1"}, "2"), "submit", 1)
    assert Execution.objects.count() == 1
    assert post(other, {"source": "1"}, "1").status_code == 202
    for _ in range(3):
        assert get(api, "/executions/").status_code == 200
    limited(get(api, "/signals/"), "read", 3)
    assert post(api, {"source": "1"}, "1", path="/executions/lookup/").status_code == 200


def test_a_minute_later_it_may_again(api, monkeypatch):
    post(api, {"source": "1"}, "1")
    limited(post(api, {"source": "1"}, "2"), "submit", 1)
    from datetime import timedelta

    later = clock.now() + timedelta(seconds=61)
    monkeypatch.setattr("forge_project.kernel.throttling.clock.now", lambda: later)
    assert post(api, {"source": "1"}, "2").status_code == 202


def test_strangers_are_counted_by_address(client):
    for _ in range(3):
        assert client.get(f"{BASE}/schema/").status_code == 200
    limited(client.get(f"{BASE}/schema/", HTTP_X_FORWARDED_FOR="1.2.3.4"), "read", 3)
    assert client.get(f"{BASE}/schema/", REMOTE_ADDR="10.9.9.9").status_code == 200
    assert all(client.get("/healthz").status_code == 200 for _ in range(5))


def test_zero_is_no_limit(api, settings):
    settings.FORGE_RATES |= {"read": 0}
    assert {get(api, "/executions/").status_code for _ in range(10)} == {200}


def test_without_its_cache_nothing_is_refused(api):
    down = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1"}
    with override_settings(CACHES={"default": down}):
        assert {get(api, "/executions/").status_code for _ in range(5)} == {200}


@pytest.mark.skipif(not REDIS, reason="FORGE_TEST_BROKER_URL names no Redis")
def test_over_processes_with_redis(api):
    shared = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS,
              "KEY_PREFIX": f"forge-test-{os.getpid()}"}  # fmt: skip
    with override_settings(CACHES={"default": shared}):
        for _ in range(2):
            assert get(api, "/executions/").status_code == 200
        elsewhere = RedisCache(REDIS, {"KEY_PREFIX": shared["KEY_PREFIX"]})
        window = int(clock.now().timestamp() // 60)
        from django.contrib.auth.models import User

        assert elsewhere.incr(f"rate:read:user:{User.objects.get(username='robo').pk}:{window}") == 3
        limited(get(api, "/executions/"), "read", 3)
