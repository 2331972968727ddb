"""Where webhooks may lead: which URLs are taken, and which addresses are connected to."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from kbstore.errors import ValidationError
from kbstore.limits import WEBHOOK_URL_CHARACTERS_MAX

Address = IPv4Address | IPv6Address

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_LOCAL_NAME = re.compile(r"(?:.*\.)?localhost\.?", re.IGNORECASE)
# RFC 6052: an IPv4 address stands in the last 32 bits.
_TRANSLATED = IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = IPv6Network("::/96")
# All other IPv6 addresses are those of one host, of one network, or of nobody yet.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Registered for special purposes; not every release of Python knows them.
_SPECIAL = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    # Answers to every virtual machine of a large cloud.
    IPv4Network("168.63.129.16/32"),
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("100::/64"),
    IPv6Network("3fff::/20"),
    IPv6Network("5f00::/16"),
)


def check_url(url: str, *, allow_private: bool) -> str:
    """The URL, when a webhook can have it: `https`, a host, neither user nor fragment.

    With `allow_private` also `http`, and hosts that are private addresses. A name is looked up
    at each connection, so what it leads to is not checked here. Raises ValidationError for
    `url`: `tooLong`, `malformed`, `scheme`, `userinfo`, `fragment` or `privateAddress`.
    """
    if len(url) > WEBHOOK_URL_CHARACTERS_MAX:
        raise _refused(f"has at most {WEBHOOK_URL_CHARACTERS_MAX} characters", "tooLong")
    parts, host = _split(url)
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise _refused("must be an https address", "scheme")
    if "@" in parts.netloc:
        raise _refused("must not name a user", "userinfo")
    if "#" in url:
        raise _refused("must not have a fragment", "fragment")
    if not allow_private and _is_private_host(host):
        raise _refused("leads to a private address", "privateAddress")
    return url


def is_public(address: Address) -> bool:
    """Whether everybody on the Internet means the same host by it; also by an IPv4 address that
    stands in an IPv6 one."""
    inner = _inner(address)
    if inner is not None:
        return is_public(inner)
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not any(address in network for network in _SPECIAL)
        and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)
    )


def parse_host(host: str) -> Address | None:
    """The address that a host is; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _inner(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address in _TRANSLATED or address in _IPV4_COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


def _is_private_host(host: str) -> bool:
    address = parse_host(host)
    if address is None:
        return _LOCAL_NAME.fullmatch(host) is not None
    return not is_public(address)


def _split(url: str) -> tuple[SplitResult, str]:
    if _PRINTABLE.fullmatch(url) is None or "\\" in url:
        raise _refused(
            "must be plain ASCII; a name in other letters is written as xn--", "malformed"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refused("is not a URL", "malformed") from None
    if not host or port == 0 or "%" in host:
        raise _refused("is not a URL with a host", "malformed")
    return parts, host


def _refused(what: str, reason: str) -> ValidationError:
    return ValidationError(f"url {what}.", field="url", reason=reason)
