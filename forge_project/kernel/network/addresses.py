"""Which addresses may be connected to. `is_global` alone lets too much through (`::127.0.0.1`, 64:ff9b::/96, 6to4)."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# For what an operator named, and no agent: it may be this very host.
ANYWHERE: tuple[Network, ...] = (ip_network("0.0.0.0/0"), ip_network("::/0"))
# Beside what is not global: addresses that carry another address, and services of the host's provider.
_REFUSED: tuple[Network, ...] = tuple(
    ip_network(one)
    for one in (
        "100.64.0.0/10",  # shared by carriers; a provider's metadata
        "192.0.0.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",
        "168.63.129.16/32",  # a provider's metadata
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",  # Teredo and others
        "2002::/16",  # 6to4
        "5f00::/16",
        "fec0::/10",
        "ff00::/8",
    )
)


def permitted(text: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether this literal address may be connected to: public, or inside `allowed`."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    if any(address in network for network in allowed):
        return True
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return not any(address in network for network in _REFUSED)
