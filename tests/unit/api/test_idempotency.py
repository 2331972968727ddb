"""Which requests are the same under one `Idempotency-Key`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.idempotency import EXPECTATIONS, request_hash

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def hashed(value: Any, method: str = "POST", path: str = "/pages", query: bytes = b"") -> bytes:
    return request_hash(method, path, query, value)


@given(st.dictionaries(st.text(max_size=5), JSON), st.randoms())
def test_the_order_of_fields_does_not_count(body: dict[str, Any], random: Any) -> None:
    items = list(body.items())
    random.shuffle(items)
    assert hashed(dict(items)) == hashed(body)


@given(JSON, JSON)
def test_other_bodies_have_other_hashes(one: Any, other: Any) -> None:
    left_out = [name for body in (one, other) if isinstance(body, dict) for name in body]
    if one != other and not EXPECTATIONS & set(left_out) and repr(one) != repr(other):
        assert hashed(one) != hashed(other)


@pytest.mark.parametrize("name", sorted(EXPECTATIONS))
def test_expected_versions_do_not_count(name: str) -> None:
    assert hashed({"a": 1, name: 3}) == hashed({"a": 1, name: 4}) == hashed({"a": 1})
    operations = [{"operations": [{"op": "edit", name: n}, {"op": "x"}]} for n in (1, 2)]
    assert hashed(operations[0]) == hashed(operations[1])
    # Only where a version is expected: elsewhere the name is data.
    assert hashed({"a": {name: 3}}) != hashed({"a": {name: 4}})


def test_method_path_and_query_count() -> None:
    base = hashed({})
    assert base != hashed({}, method="PUT")
    assert base != hashed({}, path="/commits")
    assert base != hashed({}, query=b"subtree=true")
    assert hashed({}, query=b"a=1&b=2") == hashed({}, query=b"b=2&a=1")


def test_a_flag_is_no_number() -> None:
    assert hashed({"subtree": True}) != hashed({"subtree": 1})
    assert hashed({"text": "1"}) != hashed({"text": 1})
