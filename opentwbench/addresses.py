"""Which address of the network is asked: its form, and that it is public unless a private one is meant.

What an operator or user names for a webhook, a mail server (resources/alarms.py) or a mirror (rag/downloads.py) is
judged here. Not judged here: model endpoints and retrieval systems under test, which run on one's own machines
(docs/security.md, "Addresses"), and the asking itself. No message holds the address: it may be a secret.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Its last 32 bits are the IPv4 address that is reached. Source: RFC 6052, 2.1."""

DEFAULT_PORTS = {"http": 80, "https": 443}


class AddressError(ValueError):
    """An address that is not asked."""


class UnknownHost(AddressError):
    """The name has no address: it is wrong, or the machine is offline."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """What a URL says. `target` is the path with its query, as a request line takes it."""

    scheme: str
    host: str
    port: int
    target: str


def read_url(url: str, *, allow_private: bool = False) -> WebAddress:
    """The parts of an https:// URL; http:// is taken with `allow_private` alone. Nothing is looked up.

    Raises AddressError for another scheme, no host, a user or password, a fragment, and what is not printable ASCII
    without spaces: readers of URLs disagree about the rest, and a host that two read differently is checked by one
    and asked by the other.
    """
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise AddressError("the address cannot be read: it must be printable ASCII without spaces and backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        raise AddressError("the address cannot be read") from None
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise AddressError("the address must begin with https://")
    if not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise AddressError("the address must hold a host, and no user, password or fragment")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebAddress(parts.scheme, parts.hostname, port, target)


def check_host(host: str, port: int, *, allow_private: bool = False) -> None:
    """Look a host up and judge every address that it stands for as `check_ip` does.

    Raises AddressError, and UnknownHost when there is none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnknownHost("the host of the address has no known address") from None
    for *_, place in found:
        check_ip(str(place[0]), allow_private=allow_private)


def check_ip(text: str, *, allow_private: bool = False) -> None:
    """Raises AddressError for an IP address that is not public: loopback, private, carrier-grade, reserved.

    With `allow_private` only multicast, unspecified and link-local ones are refused (the last are where clouds keep
    credentials). An IPv6 address that carries an IPv4 one is judged as that one. Source: the IANA registries of
    special-purpose addresses, as `ipaddress` holds them.
    """
    address = _reached(ipaddress.ip_address(text.partition("%")[0]))
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise AddressError("a link-local, multicast or unspecified address is never asked")
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    if not allow_private and (not address.is_global or address.is_reserved or site_local):
        raise AddressError("the address is not public: set allow_private if it is meant")


def _reached(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address that an IPv6 one stands for, else itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
