"""The HTTP API over a real database: people, tokens, clients."""

from rest_framework.test import APIClient

BASE = "/api/v1"
WRITE = {"capability": "file.write", "input": {"path": "a.txt", "content": "new"}, "workspace": "ws"}
READ = {"capability": "file.read", "input": {"path": "a.txt"}, "workspace": "ws"}


def client_of(user, **expiry):
    """A client with a fresh token of `user`."""
    from knox.models import AuthToken

    _, token = AuthToken.objects.create(user=user, **expiry)
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return client


def post(client, body, key="k1", query="", path="/executions/"):
    headers = {} if key is None else {"HTTP_IDEMPOTENCY_KEY": key}
    return client.post(f"{BASE}{path}{query}", body, format="json", **headers)


def get(client, path, **query):
    return client.get(BASE + path, query)


def refused(response, status, code):
    """Asserts a problem; its facts."""
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json"), response.content
    told = response.json()
    assert set(told) == {"type", "title", "status", "code", "detail", "facts", "correlation_id"}
    assert (told["status"], told["code"], told["correlation_id"]) == (status, code, response["X-Request-Id"])
    return told["facts"]
