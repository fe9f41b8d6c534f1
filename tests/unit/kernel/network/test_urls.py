"""Which URLs and addresses Forge may be sent to."""

from ipaddress import ip_network

import pytest

from forge_project.kernel.errors import Invalid
from forge_project.kernel.network.addresses import permitted
from forge_project.kernel.network.urls import parse

REFUSED = """
127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 169.254.170.2
100.64.0.1 100.100.100.200 192.0.0.192 192.0.2.1 198.18.0.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255 168.63.129.16 192.88.99.1
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2001::1 fe80::1
fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001:db8::1 100::1 localhost x 127.1 1 0x7f.1 １２７.0.0.1
"""


@pytest.mark.parametrize("address", REFUSED.split())
def test_refused_addresses(address):
    assert not permitted(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:830::200e"])
def test_public_addresses(address):
    assert permitted(address)


def test_allowed_by_name():
    home = [ip_network("127.0.0.0/8")]
    assert permitted("127.0.0.1", home)
    assert not permitted("10.0.0.1", home)
    assert not permitted("::ffff:127.0.0.1", home)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://example.com/", "net.scheme"),
        ("ftp://example.com/", "net.url"),
        ("https://", "net.url"),
        ("//example.com/", "net.url"),
        ("https://user:password@example.com/", "net.url"),
        ("https://example.com/#x", "net.url"),
        ("https://example.com/a b", "net.url"),
        ("https://exa\tmple.com/", "net.url"),
        ("https://example.com/\r\nX: y", "net.url"),
        ("https://example.com\\@evil.example/", "net.url"),
        ("https://example.com/é", "net.url"),
        ("https://examplé.com/", "net.url"),
        ("https://example.com:0/", "net.url"),
        ("https://example.com:65536/", "net.url"),
        ("https://-example.com/", "net.url"),
        ("https://exa..mple.com/", "net.url"),
        ("https://127.1/", "net.url"),
        ("https://2130706433/", "net.url"),
        ("https://0x7f.1/", "net.url"),
        ("https://0x7f000001/", "net.url"),
        ("https://0177.0.0.1/", "net.url"),
        ("https://127.0.0.1/", "net.private_address"),
        ("https://127.0.0.1./", "net.private_address"),
        ("https://169.254.169.254/latest", "net.private_address"),
        ("https://[::1]/", "net.private_address"),
        ("https://[::ffff:127.0.0.1]/", "net.private_address"),
        ("https://[fe80::1%25eth0]/", "net.url"),
        ("https://localhost/", "net.private_address"),
        ("https://LOCALHOST./", "net.private_address"),
        ("https://a.localhost/", "net.private_address"),
        ("https://example.com/" + "x" * 2000, "net.url"),
    ],
)
def test_refused_urls(url, rule):
    with pytest.raises(Invalid) as refused:
        parse(url)
    assert refused.value.facts == {"path": "/url", "rule": rule}


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("https://Example.COM", "https://example.com", "/"),
        ("https://example.com:8443/a?token=x", "https://example.com:8443", "/a?token=x"),
        ("https://example.com?x", "https://example.com", "/?x"),
        ("https://[2606:4700:4700::1111]:444/", "https://[2606:4700:4700::1111]:444", "/"),
        ("https://8.8.8.8/", "https://8.8.8.8", "/"),
        ("https://xn--exampl-gva.com/", "https://xn--exampl-gva.com", "/"),
    ],
)
def test_read_urls(url, origin, path):
    target = parse(url)
    assert (target.origin, target.path) == (origin, path)
