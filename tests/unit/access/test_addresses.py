import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.access.addresses import (
    Pattern,
    child_address,
    fill_parameters,
    is_address,
    parent_address,
    parse_address,
    split_address,
)
from kbstore.errors import ValidationError
from kbstore.limits import SCOPE_ADDRESS_CODE_POINTS_MAX

segments = st.text(st.sampled_from("abcé漢.-_%@+"), min_size=1, max_size=5).filter(
    lambda s: s not in (".", "..")
)
addresses = st.builds(
    lambda kind, rest, children: "/".join([":".join([kind, *rest]), *children]),
    segments,
    st.lists(segments, min_size=1, max_size=3),
    st.lists(segments, max_size=2),
)
patterns = st.builds(
    lambda kind, rest: Pattern(
        (kind, *(f"$p{i}" if part is None else part for i, part in enumerate(rest)))
    ),
    st.sampled_from("tu"),
    st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=3),
)


@pytest.mark.parametrize(
    "text",
    ["org:acme", "team:acme:support", "team:acme/support", "user:a@b.example", "org:100%", "é:漢"],
)
def test_addresses_are_kept_as_they_are(text: str) -> None:
    assert parse_address(text, "scope") == text
    assert is_address(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "malformed"),
        ("org", "malformed"),
        ("org/acme", "malformed"),
        ("org:", "malformed"),
        (":acme", "malformed"),
        ("org::acme", "malformed"),
        ("org:acme/", "malformed"),
        ("org:acme//x", "malformed"),
        ("org:/x", "malformed"),
        ("org:acme/..", "malformed"),
        ("org:.", "malformed"),
        ("org:acme/a:b", "character"),
        ("org:acme#faq", "character"),
        ("team:$org", "character"),
        ("org:a,b", "character"),
        ("org:a b", "character"),
        (" org:a", "character"),
        ("org:a\n", "character"),
        ("org:a\x00", "character"),
        ("org:a\u200b", "character"),
        ("org:a\u202eb", "character"),
        ("org:\ud800", "character"),
        ("\ud800", "malformed"),
    ],
)
def test_other_text_is_refused_for_its_field(text: str, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_address(text, "scope[1]")
    assert refused.value.details["field"] == "scope[1]"
    assert refused.value.details["reason"] == reason
    refused.value.message.encode()
    assert not is_address(text)


def test_the_length_is_limited_in_code_points_after_nfc() -> None:
    decomposed = "org:" + "e\u0301" * (SCOPE_ADDRESS_CODE_POINTS_MAX - 4)
    assert len(parse_address(decomposed, "scope")) == SCOPE_ADDRESS_CODE_POINTS_MAX
    with pytest.raises(ValidationError) as refused:
        parse_address("org:" + "漢" * (SCOPE_ADDRESS_CODE_POINTS_MAX - 3), "scope")
    assert refused.value.details == {
        "field": "scope",
        "reason": "tooLong",
        "limit": SCOPE_ADDRESS_CODE_POINTS_MAX,
    }


def test_addresses_become_nfc_and_is_address_wants_them_so() -> None:
    decomposed = unicodedata.normalize("NFD", "org:café")
    assert parse_address(decomposed, "scope") == "org:café"
    assert not is_address(decomposed)


def test_case_counts() -> None:
    assert Pattern.parse("org:acme").match("org:Acme") is None


@given(addresses)
def test_parsing_is_idempotent_and_splitting_loses_nothing(text: str) -> None:
    address = parse_address(text, "scope")
    assert parse_address(address, "scope") == address
    parts, child = split_address(address)
    assert ":".join(parts) + (f"/{child}" if child else "") == address
    assert Pattern.parse(address).text == address
    assert Pattern.parse(address).match(address) == {}


def test_children_and_parents() -> None:
    assert child_address("team:acme", "support") == "team:acme/support"
    assert parent_address("team:acme/support/x") == "team:acme/support"
    assert parent_address("team:acme") is None


def test_text_that_is_no_address_matches_nothing_by_accident() -> None:
    assert Pattern.parse("org:$org").match("org:acme/") is None


def test_match_binds_the_parameters_and_substitute_fills_them() -> None:
    pattern = Pattern.parse("team:$org:$team")
    assert pattern.match("team:acme:support") == {"org": "acme", "team": "support"}
    assert pattern.match("team:acme") is None
    assert pattern.match("team:acme:support/x") is None
    assert pattern.match("unit:acme:support") is None
    assert pattern.substitute({"org": "acme", "other": "x"}).text == "team:acme:$team"
    assert pattern.parameters == {"org", "team"}
    assert not pattern.is_concrete
    assert Pattern.parse("team:acme/support").is_concrete


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$type:a", "character"),
        ("team:$", "character"),
        ("team:$1", "character"),
        ("team:a$b", "character"),
        ("team:$org/$child", "character"),
        ("team:$a:$a", "duplicate"),
        ("team:$org:", "malformed"),
    ],
)
def test_other_patterns_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Pattern.parse(text, "principal")
    assert refused.value.details["field"] == "principal"
    assert refused.value.details["reason"] == reason


@given(patterns, st.lists(st.sampled_from("abc"), min_size=3, max_size=3))
def test_substituting_what_a_match_bound_gives_the_address_back(
    pattern: Pattern, values: list[str]
) -> None:
    concrete = pattern.substitute({f"p{i}": value for i, value in enumerate(values)})
    assert concrete.is_concrete
    bindings = pattern.match(concrete.text)
    assert bindings is not None
    assert bindings.keys() == pattern.parameters
    assert pattern.substitute(bindings) == concrete
    assert Pattern.parse(pattern.text) == pattern


@given(patterns, patterns)
def test_covers_and_overlaps_agree_with_the_addresses(one: Pattern, other: Pattern) -> None:
    values = "abz"  # z stands for every value that no pattern fixes
    universe = {f"{t}:{a}" for t in "tu" for a in values}
    universe |= {f"{base}:{b}" for base in universe for b in values}
    universe |= {f"{base}:{b}" for base in universe if base.count(":") == 2 for b in values}
    mine = {a for a in universe if one.match(a) is not None}
    theirs = {a for a in universe if other.match(a) is not None}
    assert one.covers(other) == (theirs <= mine)
    assert one.overlaps(other) == bool(mine & theirs)


def test_labels_are_filled_in_one_pass() -> None:
    bindings = {"org": "$team", "team": "support"}
    assert fill_parameters("$team of $org for $5, $unknown", bindings) == (
        "support of $team for $5, $unknown"
    )
