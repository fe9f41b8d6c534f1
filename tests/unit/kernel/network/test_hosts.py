"""Allow-lists of hosts: what may stand on one, and what it then covers."""

from ipaddress import ip_network

import pytest

from forge_project.kernel.errors import Invalid
from forge_project.kernel.network.hosts import MAX_HOSTS, entries, listed, place
from forge_project.kernel.network.urls import parse


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("API.Example.com", "api.example.com"),
        ("api.example.com.", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("api.example.com:0443", "api.example.com:443"),
        ("8.8.8.8:53", "8.8.8.8:53"),
        ("[2606:4700:4700:0::1111]", "[2606:4700:4700::1111]"),
        ("[2606:4700:4700::1111]:444", "[2606:4700:4700::1111]:444"),
        ("xn--exampl-gva.com", "xn--exampl-gva.com"),
    ],
)
def test_one_spelling(typed, kept):
    assert entries([typed]) == [kept]


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("", "net.url"),
        ("*", "net.url"),
        ("*.example.com", "net.url"),
        (".example.com", "net.url"),
        ("https://example.com", "net.url"),
        ("example.com/", "net.url"),
        ("example.com?x", "net.url"),
        ("user@example.com", "net.url"),
        ("example.com:", "net.url"),
        ("example.com:0", "net.url"),
        ("example.com:65536", "net.url"),
        ("example.com:*", "net.url"),
        ("example.com example.org", "net.url"),
        ("example.com\n", "net.url"),
        ("exämple.com", "net.url"),
        ("2606:4700:4700::1111", "net.url"),
        ("0x7f.1", "net.url"),
        ("127.0.0.1", "net.private_address"),
        ("169.254.169.254:80", "net.private_address"),
        ("[::1]", "net.private_address"),
        ("localhost:8000", "net.private_address"),
    ],
)
def test_what_is_no_host(typed, rule):
    with pytest.raises(Invalid) as refused:
        entries(["example.org", typed], path="/hosts")
    assert refused.value.facts == {"path": "/hosts", "rule": rule}


def test_the_operators_own_networks_may_stand_there():
    loopback = [ip_network("127.0.0.0/8")]
    assert entries(["localhost:8000", "127.0.0.1"], allowed=loopback) == ["127.0.0.1", "localhost:8000"]


def test_each_once_and_not_too_many():
    assert entries(["b.example", "A.example", "a.example."]) == ["a.example", "b.example"]
    with pytest.raises(Invalid):
        entries([f"h{n}.example" for n in range(MAX_HOSTS + 1)])


@pytest.mark.parametrize(
    ("url", "covered"),
    [
        ("https://a.example/x", True),
        ("http://A.example./x", True),
        ("https://a.example:8443/", False),
        ("https://b.example:8443/", True),
        ("https://b.example/", False),
        ("https://x.a.example/", False),
        ("https://a.example.org/", False),
        ("https://[2606:4700:4700::1111]/", True),
        ("https://[2606:4700:4700::1112]/", False),
    ],
)
def test_what_a_list_covers(url, covered):
    hosts = entries(["a.example", "b.example:8443", "[2606:4700:4700::1111]"])
    assert listed(place(parse(url, plain=True)), hosts) is covered
    assert not listed(place(parse(url, plain=True)), [])
