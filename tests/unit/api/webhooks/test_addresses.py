"""Which addresses everybody means the same host by, in every way they can be written."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.webhooks.addresses import check_url, is_public, parse_host
from kbstore.errors import ValidationError

PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "feff::1",
    "4000::1",
    "168.63.129.16",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "3fff::1",
    "5f00::1",
    "192.88.99.1",
    "2002:a00:1::1",  # 6to4 of 10.0.0.1
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",  # Teredo of 10.0.0.1
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "172.32.0.1",
    "192.169.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80e::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_a_way_of_writing_an_address_makes_it_no_other(address: IPv4Address) -> None:
    for prefix in ("::ffff:", "64:ff9b::", "::"):
        assert is_public(IPv6Address(f"{prefix}{address}")) == is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "a.example"])
def test_what_is_no_address_is_a_name(host: str) -> None:
    """Also where a resolver makes an address of it: then that one is checked."""
    assert parse_host(host) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://receiver.example",
        "HTTPS://Receiver.Example:8443/a/b?c=d",
        "https://8.8.8.8/",
        "https://[2606:4700:4700::1111]:8443/",
        "https://xn--empfnger-0za.example/",
    ],
)
def test_urls_that_are_taken(url: str) -> None:
    assert check_url(url, allow_private=False) == url


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/", "https://10.0.0.1/", "http://a.example"])
def test_what_is_private_is_taken_where_it_is_allowed(url: str) -> None:
    assert check_url(url, allow_private=True) == url
    with pytest.raises(ValidationError):
        check_url(url, allow_private=False)


@given(st.text(max_size=40))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        check_url(text, allow_private=True)
    except ValidationError as error:
        assert error.details["field"] == "url"
    else:
        assert text.lower().startswith(("http://", "https://"))
