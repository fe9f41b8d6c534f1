"""One exchange with a checked address, against a real server."""

import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from forge_project.kernel.errors import Denied, Failed, TooLarge
from forge_project.kernel.network import names
from forge_project.kernel.network.exchange import Exchange, exchange
from forge_project.kernel.network.urls import Target, parse
from tests.receiver import receiver

HOME = [ip_network("127.0.0.0/8")]


def answer(url, seconds=5, allowed=HOME, most=0, **parts):
    target = Target(**parts) if parts else parse(url, allowed=HOME, plain=True)
    asked = Exchange(target=target, method="POST", headers={"X": "y"}, body=b"{}", seconds=seconds, most=most)
    return exchange(asked, allowed)


def ask(url, **asked):
    return answer(url, **asked).status


@pytest.fixture
def stands_for(monkeypatch):
    """`stands_for(address, …)`: what any name is resolved to, from now on; the look-ups are counted."""
    seen = []

    def names_of(*addresses):
        monkeypatch.setattr(names, "addresses_of", lambda host, _: (seen.append(host), list(addresses))[1])
        return seen

    return names_of


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
        with pytest.raises(Failed, match="no answer in time") as late:
            ask(server.url, seconds=0.5)
        assert late.value.code == "TIMEOUT"
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


def test_one_bad_address_among_good_ones_is_enough(stands_for):
    stands_for("8.8.8.8", "10.0.0.1")
    with pytest.raises(Denied):
        ask("", scheme="http", host="rebound.example", port=80, path="/")


def test_it_connects_to_the_address_that_was_checked(stands_for):
    """A second look-up would give another address: there is none."""
    seen = stands_for("127.0.0.1")
    with receiver() as server:
        port = server.server.server_port
        assert ask("", scheme="http", host="rebound.example", port=port, path="/") == 200
    assert (server.got[0][1]["Host"], seen) == (f"rebound.example:{port}", ["rebound.example"])


def test_the_body_is_read_where_it_is_wanted_and_no_longer_than_that():
    with receiver(200, body=b"12345") as server:
        assert [answer(server.url, most=most).body for most in (0, 5)] == [b"", b"12345"]
        with pytest.raises(TooLarge) as refused:
            answer(server.url, most=4)
    assert refused.value.facts == {"limit": 4}


@pytest.mark.parametrize("wanted", [0, 100])
def test_a_name_that_nobody_answers_is_over_by_the_deadline(monkeypatch, wanted):
    monkeypatch.setattr(names, "_PROGRAM", "import time; time.sleep(60)")
    began = time.monotonic()
    with pytest.raises(Failed) as late:
        answer("", seconds=0.3, most=wanted, scheme="http", host="silent.example", port=80, path="/")
    assert (late.value.code, late.value.retryable) == ("TIMEOUT", True)
    assert time.monotonic() - began < 2


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
def test_tls_is_checked_against_the_name(monkeypatch, stands_for, certificate, host, trusted, why):
    stands_for("127.0.0.1")
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with receiver(certificate=certificate) as server:
        port = server.server.server_port
        if not why:
            assert ask("", scheme="https", host=host, port=port, path="/") == 200
        else:
            with pytest.raises(Failed, match=why):
                ask("", scheme="https", host=host, port=port, path="/")
            assert server.got == []
