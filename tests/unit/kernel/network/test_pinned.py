"""One exchange with a checked address, against a real server."""

import socket
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from forge_project.kernel.errors import Denied, Failed
from forge_project.kernel.network.pinned import Exchange, status_of
from forge_project.kernel.network.urls import Target, parse
from tests.receiver import receiver

HOME = [ip_network("127.0.0.0/8")]


def ask(url, seconds=5, allowed=HOME, **parts):
    target = Target(**parts) if parts else parse(url, allowed=HOME, plain=True)
    return status_of(Exchange(target=target, method="POST", headers={"X": "y"}, body=b"{}", seconds=seconds), allowed)


@pytest.mark.parametrize("status", [200, 204, 404, 500])
def test_its_status(status):
    with receiver(status) as server:
        assert ask(f"{server.url}/a?b=c") == status
    path, headers, body = server.got[0]
    assert (path, headers["X"], body) == ("/a?b=c", "y", b"{}")
    assert headers["Host"] == server.url.removeprefix("http://")


def test_a_redirect_is_an_answer_and_is_not_followed():
    with receiver("redirect") as server:
        assert ask(server.url) == 302
    assert len(server.got) == 1


@pytest.mark.parametrize("mode", ["never", "slow"])
def test_it_is_over_by_its_deadline(mode):
    with receiver(mode) as server:
        began = time.monotonic()
        with pytest.raises(Failed, match="no answer in time"):
            ask(server.url, seconds=0.5)
        assert time.monotonic() - began < 3


def test_nobody_there():
    with receiver() as server:
        pass
    with pytest.raises(Failed, match="refused"):
        ask(server.url)


def test_a_hangup():
    with receiver("hangup") as server, pytest.raises(Failed, match="no answer: "):
        ask(server.url)


def test_an_address_is_checked_when_it_is_resolved():
    """The name was harmless when it was given; what it stands for now is not, and nothing is sent."""
    with receiver() as server:
        port = server.server.server_port
        with pytest.raises(Denied) as refused:
            ask("", allowed=[], scheme="http", host="localhost", port=port, path="/")
    assert (refused.value.facts, server.got) == ({"rule": "net.private_address"}, [])


def test_one_bad_address_among_good_ones_is_enough(monkeypatch):
    found = [(0, 0, 0, "", ("8.8.8.8", 80)), (0, 0, 0, "", ("10.0.0.1", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(Denied):
        ask("", scheme="http", host="rebound.example", port=80, path="/")


def test_it_connects_to_the_address_that_was_checked(monkeypatch):
    """A second look-up would give another address: there is none."""
    answers = [[(2, 1, 6, "", ("127.0.0.1", 1))]]
    with receiver() as server:
        answers[0][0] = (2, 1, 6, "", ("127.0.0.1", server.server.server_port))
        real = socket.getaddrinfo

        def look_up(host, *rest, **named):
            return answers.pop() if host == "rebound.example" else real(host, *rest, **named)

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        port = server.server.server_port
        assert ask("", scheme="http", host="rebound.example", port=port, path="/") == 200
    assert server.got[0][1]["Host"] == f"rebound.example:{port}"


def test_no_proxy_is_used(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with receiver() as server:
        assert ask(server.url) == 200


def test_a_server_without_tls_is_refused():
    with receiver() as server:
        target = {"scheme": "https", "host": "127.0.0.1", "port": server.server.server_port, "path": "/"}
        with pytest.raises(Failed, match="no answer: no TLS"):
            ask("", seconds=2, **target)
    assert server.got == []


@pytest.fixture
def certificate(tmp_path):
    """A certificate of its own authority, for `forge.test`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forge.test")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, now - timedelta(days=1), now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("forge.test")]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    path = tmp_path / "both.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(pem))
    return path


@pytest.mark.parametrize(
    ("host", "trusted", "why"),
    [("forge.test", True, ""), ("forge.test", False, "not trusted"), ("other.test", True, "not trusted")],
)
def test_tls_is_checked_against_the_name(monkeypatch, certificate, host, trusted, why):
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with receiver(certificate=certificate) as server:
        port = server.server.server_port
        real = socket.getaddrinfo
        there = [(2, 1, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda name, *rest, **named: there if ".test" in name else real(name, *rest, **named)
        )
        if not why:
            assert ask("", scheme="https", host=host, port=port, path="/") == 200
        else:
            with pytest.raises(Failed, match=why):
                ask("", scheme="https", host=host, port=port, path="/")
            assert server.got == []
