import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.access import (
    AccessRule,
    Configuration,
    Pattern,
    PinDeclaration,
    Role,
    declare_scope,
    dump_configuration,
    load_configuration,
)
from kbstore.errors import ConfigurationInvalidError
from kbstore.limits import (
    CONFIGURATION_BYTES_MAX,
    DESCRIPTION_TOKENS_MAX,
    KEY_CODE_POINTS_MAX,
    NAME_CODE_POINTS_MAX,
    NESTING_LEVELS_MAX,
    PIN_DEPTH_LEVELS_MAX,
    SCOPE_ADDRESS_CODE_POINTS_MAX,
)
from tests.unit.access.documents import ORG, refusal, scopes

HANDBOOK = """
[settings]
requireExpectedVersion = true

[scopes."team:$org:$team"]
description = "What a team knows"
displayLabel = "Team $team"
belongsTo = "org:$org"
access = [
  { principal = "self", role = "editor" },
  { principal = "org:$org", role = "viewer" },
  { principal = "org:$org/board", role = "owner" },
]

[scopes."team:$org:$team".children.incidents]
description = "Incident reports"
access = [{ principal = "user:root", role = "owner" }]

[scopes."org:$org"]
access = [{ principal = "self", role = "viewer" }]
children = { board = {} }

[scopes."user:$id"]

[[scopes."org:$org".pages]]
key = "policies"
name = "Policies"
pin = { kind = "list", depth = 2 }

[[scopes."org:$org".pages.pages]]
key = "refund"
name = "Refund policy"
description = "When money goes back"
body = "# Refund\\r\\nWithin 30 days."
pin = true
"""


def test_everything_a_configuration_can_say_is_read() -> None:
    configuration = load_configuration(HANDBOOK, "toml")
    assert configuration.settings.require_expected_version
    org, team, user = configuration.scopes
    assert (org.pattern.text, user.pattern.text) == ("org:$org", "user:$id")
    assert team.belongs_to == Pattern.parse("org:$org")
    assert team.display_label == "Team $team"
    assert team.access == (
        AccessRule(None, Role.EDITOR),
        AccessRule(Pattern.parse("org:$org"), Role.VIEWER),
        AccessRule(Pattern.parse("org:$org/board"), Role.OWNER),
    )
    assert team.children[0].access == (AccessRule(Pattern.parse("user:root"), Role.OWNER),)
    assert org.children[0].access is None
    assert user.access == ()
    (policies,) = org.pages
    assert policies.pin == PinDeclaration("list", 2)
    assert policies.body is None
    (refund,) = policies.pages
    assert refund.body == "# Refund\nWithin 30 days."
    assert refund.pin == PinDeclaration("page", 1)


def test_canonical_json_loads_again_and_is_stable() -> None:
    configuration = load_configuration(HANDBOOK, "toml")
    text = dump_configuration(configuration)
    again = load_configuration(text, "json")
    assert again == configuration
    assert dump_configuration(again) == text
    reordered = json.dumps(dict(reversed(json.loads(text).items())), indent=2)
    assert dump_configuration(load_configuration(reordered, "json")) == text


def test_the_empty_configuration() -> None:
    assert dump_configuration(Configuration.empty()) == "{}"
    assert load_configuration("", "toml") == load_configuration("{}", "json")
    assert load_configuration("{}", "json") == Configuration.empty()


def test_access_of_a_child_given_as_empty_is_not_access_left_out() -> None:
    given_empty = load_configuration(scopes(org={"children": {"a": {"access": []}}}), "json")
    left_out = load_configuration(scopes(org={"children": {"a": {}}}), "json")
    assert given_empty.scopes[0].children[0].access == ()
    assert load_configuration(dump_configuration(given_empty), "json") == given_empty
    assert left_out.scopes[0].children[0].access is None


@pytest.mark.parametrize(
    ("pin", "read"),
    [
        (True, PinDeclaration("page")),
        (False, None),
        ("page", PinDeclaration("page")),
        ("list", PinDeclaration("list", 1)),
        ({}, PinDeclaration("page")),
        (
            {"kind": "list", "depth": PIN_DEPTH_LEVELS_MAX},
            PinDeclaration("list", PIN_DEPTH_LEVELS_MAX),
        ),
    ],
)
def test_ways_to_pin(pin: object, read: PinDeclaration | None) -> None:
    page = {"key": "k", "name": "n", "pin": pin}
    configuration = load_configuration(scopes(org={"pages": [page]}), "json")
    assert configuration.scopes[0].pages[0].pin == read


def nested(levels: int) -> list[dict[str, object]]:
    pages: list[dict[str, object]] = []
    for _ in range(levels):
        pages = [{"key": "k", "name": "n", "pages": pages}]
    return pages


def test_pages_nest_to_the_limit_and_no_deeper() -> None:
    load_configuration(scopes(org={"pages": nested(NESTING_LEVELS_MAX)}), "json")
    path, reason = refusal(scopes(org={"pages": nested(NESTING_LEVELS_MAX + 1)}))
    assert reason == "tooDeep"
    assert path == f"{ORG}.pages" + "[0].pages" * NESTING_LEVELS_MAX


def test_names_and_keys_are_taken_at_their_limits() -> None:
    page = {
        "key": "漢" * KEY_CODE_POINTS_MAX,
        "name": "漢" * NAME_CODE_POINTS_MAX,
        "description": "x" * (4 * DESCRIPTION_TOKENS_MAX),
    }
    scope = {"pages": [page], "displayLabel": "x" * NAME_CODE_POINTS_MAX}
    assert load_configuration(scopes(org=scope), "json").scopes[0].pages[0].key == page["key"]


def test_the_address_of_a_child_scope_is_within_the_limit() -> None:
    name = "x" * (SCOPE_ADDRESS_CODE_POINTS_MAX - len("org:a/"))
    load_configuration(scopes(**{"org:a": {"children": {name: {}}}}), "json")
    _, reason = refusal(scopes(**{"org:a": {"children": {name + "x": {}}}}))
    assert reason == "tooLong"


def test_the_size_is_limited_in_bytes() -> None:
    page = {"key": "k", "name": "n", "body": ""}
    base = len(scopes(org={"pages": [page]}))
    page["body"] = "x" * (CONFIGURATION_BYTES_MAX - base)
    assert load_configuration(scopes(org={"pages": [page]}), "json").scopes
    page["body"] += "x"
    assert refusal(scopes(org={"pages": [page]})) == ("", "tooLong")


def test_what_would_be_stored_is_within_the_limit_too() -> None:
    bell = "\\u0007"  # a TOML literal cannot hold it; six bytes there, six in JSON
    lines = '"""' + "\n" * (CONFIGURATION_BYTES_MAX - 200) + '"""'  # two bytes each in JSON
    head = '[scopes."a:b"]\n[[scopes."a:b".pages]]\nkey = "k"\nname = "n"\nbody = '
    assert load_configuration(f'{head}"{bell}"', "toml").scopes
    assert refusal(head + lines, "toml") == ("", "tooLong")


def test_declaring_a_scope_keeps_what_is_there() -> None:
    configuration = load_configuration(HANDBOOK, "toml")
    more = declare_scope(configuration, Pattern.parse("docs:acme"))
    assert declare_scope(more, Pattern.parse("docs:acme")) is more
    assert [s.pattern.text for s in more.scopes] == [
        "docs:acme",
        "org:$org",
        "team:$org:$team",
        "user:$id",
    ]
    assert more.scopes[0].access == (AccessRule(None, Role.OWNER),)
    assert load_configuration(dump_configuration(more), "json") == more


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["scopes", "settings", "org:$o", "a:b", "access", "pages", "key", "name",
                 "principal", "role", "children", "pin", "belongsTo", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["scopes", "settings"]), json_values, max_size=2))
def test_any_document_is_read_or_refused_by_path(document: object) -> None:
    try:
        configuration = load_configuration(json.dumps(document), "json")
    except ConfigurationInvalidError as refused:
        refused.message.encode()
    else:
        text = dump_configuration(configuration)
        assert load_configuration(text, "json") == configuration


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for format in ("toml", "json"):
        try:
            load_configuration(text, "toml" if format == "toml" else "json")
        except ConfigurationInvalidError as refused:
            refused.message.encode()
