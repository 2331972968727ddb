"""Ids: rising, of version 7, and addresses that cannot be confused."""

from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, uuid4

import msgspec
import pytest

from kbstore.ids import (
    SystemIds,
    declared_page_id,
    format_kb_address,
    id_from_bytes,
    is_slug,
    parse_kb_address,
    pin_id,
)


def test_ids_rise_within_a_process_and_are_uuid_version_7() -> None:
    ids = SystemIds()
    made = [ids.new_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {(made_id.version, made_id.variant) for made_id in made} == {(7, RFC_4122)}


def test_threads_never_get_the_same_id() -> None:
    ids = SystemIds()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ids.new_id(), range(4_000)))
    assert len(set(made)) == 4_000


def test_an_id_comes_back_from_its_bytes() -> None:
    for made in (uuid4(), SystemIds().new_id()):
        assert id_from_bytes(made.bytes) == made
    with pytest.raises(msgspec.MsgspecError):
        id_from_bytes(bytes(15))


def test_a_knowledge_base_address_goes_both_ways() -> None:
    kb_id = uuid4()
    assert parse_kb_address(format_kb_address(kb_id)) == kb_id
    assert parse_kb_address(str(kb_id)) == kb_id
    assert parse_kb_address("handbook") is None
    assert not is_slug(str(kb_id))


def test_declared_ids_differ_by_scope_path_and_occurrence() -> None:
    kb_id, page_id = uuid4(), uuid4()
    ids = {
        declared_page_id(kb_id, scope, path, occurrence)
        for scope in ("org:acme", "org:other")
        for path in ((), ("a",), ("a", "b"))
        for occurrence in (0, 1)
    }
    assert len(ids) == 12
    assert declared_page_id(kb_id, "org:acme", (), 0) in ids
    assert pin_id(page_id, "page") != pin_id(page_id, "list")
