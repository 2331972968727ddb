import pytest

from kbstore.access import Pattern, load_configuration
from kbstore.errors import ConfigurationInvalidError
from kbstore.limits import (
    DESCRIPTION_TOKENS_MAX,
    KEY_CODE_POINTS_MAX,
    NAME_CODE_POINTS_MAX,
    PIN_DEPTH_LEVELS_MAX,
)
from tests.unit.access.documents import ORG, refusal, scopes


@pytest.mark.parametrize(
    ("scope", "path", "reason"),
    [
        ({"acess": []}, ".acess", "unknownField"),
        ([], "", "type"),
        ({"access": {}}, ".access", "type"),
        ({"access": ["self"]}, ".access[0]", "type"),
        ({"access": [{"principal": "self"}]}, ".access[0]", "missing"),
        (
            {"access": [{"principal": "self", "role": "admin"}]},
            ".access[0].role",
            "unknownValue",
        ),
        ({"access": [{"principal": "self", "role": "Owner"}]}, ".access[0].role", "unknownValue"),
        ({"access": [{"principal": "self", "role": 4}]}, ".access[0].role", "type"),
        (
            {"access": [{"principal": "self", "role": "viewer", "rule": 1}]},
            ".access[0].rule",
            "unknownField",
        ),
        (
            {
                "access": [
                    {"principal": "self", "role": "viewer"},
                    {"principal": "orgs:$org", "role": "viewer"},
                ]
            },
            ".access[1].principal",
            "undeclared",
        ),
        (
            {"access": [{"principal": "org:$org/board", "role": "viewer"}]},
            ".access[0].principal",
            "undeclared",
        ),
        (
            {"access": [{"principal": "org", "role": "viewer"}]},
            ".access[0].principal",
            "malformed",
        ),
        ({"displayLabel": "Team $team"}, ".displayLabel", "unbound"),
        ({"displayLabel": ""}, ".displayLabel", "empty"),
        ({"displayLabel": "x" * (NAME_CODE_POINTS_MAX + 1)}, ".displayLabel", "tooLong"),
        ({"description": "x" * (4 * DESCRIPTION_TOKENS_MAX + 1)}, ".description", "tooLong"),
        ({"belongsTo": "firm:$org"}, ".belongsTo", "undeclared"),
        ({"belongsTo": "org:$firm"}, ".belongsTo", "unbound"),
        ({"belongsTo": "org:$org/x"}, ".belongsTo", "childScope"),
        ({"belongsTo": "org:$org"}, ".belongsTo", "cyclic"),
        ({"children": {"a/b": {}}}, '.children."a/b"', "character"),
        ({"children": {"$a": {}}}, '.children."$a"', "character"),
        ({"children": {"": {}}}, '.children.""', "malformed"),
        ({"children": {"a": {}, "A": {}}}, ".children.A", "duplicate"),
        ({"children": {"a": {"belongsTo": "x:y"}}}, ".children.a.belongsTo", "unknownField"),
        (
            {"children": {"a": {"access": [{"principal": "x:y", "role": "owner"}]}}},
            ".children.a.access[0].principal",
            "undeclared",
        ),
        ({"pages": {"key": "a", "name": "A"}}, ".pages", "type"),
        ({"pages": [{"name": "A"}]}, ".pages[0]", "missing"),
        ({"pages": [{"key": "a"}]}, ".pages[0]", "missing"),
        ({"pages": [{"key": "a/b", "name": "A"}]}, ".pages[0].key", "character"),
        ({"pages": [{"key": "a", "name": " "}]}, ".pages[0].name", "empty"),
        ({"pages": [{"key": "a", "name": "A", "body": "\0"}]}, ".pages[0].body", "nul"),
        ({"pages": [{"key": "a", "name": "A", "body": None}]}, ".pages[0].body", "type"),
        ({"pages": [{"key": "a", "name": "A", "Pages": []}]}, ".pages[0].Pages", "unknownField"),
        (
            {"pages": [{"key": "straße", "name": "A"}, {"key": "STRASSE", "name": "B"}]},
            ".pages[1].key",
            "duplicate",
        ),
        (
            {"pages": [{"key": "é", "name": "A"}, {"key": "e\u0301", "name": "B"}]},
            ".pages[1].key",
            "duplicate",
        ),
        (
            {"pages": [{"key": "k" * (KEY_CODE_POINTS_MAX + 1), "name": "A"}]},
            ".pages[0].key",
            "tooLong",
        ),
        ({"pages": [{"key": "a", "name": "A", "pin": "both"}]}, ".pages[0].pin", "unknownValue"),
        (
            {"pages": [{"key": "a", "name": "A", "pin": {"depth": 1}}]},
            ".pages[0].pin.depth",
            "outOfPlace",
        ),
        (
            {
                "pages": [
                    {
                        "key": "a",
                        "name": "A",
                        "pin": {"kind": "list", "depth": PIN_DEPTH_LEVELS_MAX + 1},
                    }
                ]
            },
            ".pages[0].pin.depth",
            "outOfRange",
        ),
        (
            {"pages": [{"key": "a", "name": "A", "pin": {"kind": "list", "depth": True}}]},
            ".pages[0].pin.depth",
            "type",
        ),
        (
            {"pages": [{"key": "a", "name": "A", "pages": [{"key": "", "name": "B"}]}]},
            ".pages[0].pages[0].key",
            "empty",
        ),
    ],
)
def test_what_is_wrong_in_a_scope_is_named(scope: object, path: str, reason: str) -> None:
    assert refusal(scopes(org=scope)) == (ORG + path, reason)


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ('{"scope": {}}', "scope", "unknownField"),
        ('{"settings": {"requireVersion": true}}', "settings.requireVersion", "unknownField"),
        ('{"settings": {"requireExpectedVersion": 1}}', "settings.requireExpectedVersion", "type"),
        ('{"settings": {"readTokens": 99}}', "settings.readTokens", "outOfRange"),
        ('{"settings": {"readTokens": 100001}}', "settings.readTokens", "outOfRange"),
        ('{"settings": {"readTokens": "many"}}', "settings.readTokens", "type"),
        ('{"settings": {"pinnedTokens": 0}}', "settings.pinnedTokens", "outOfRange"),
        ('{"settings": {"pinnedTokens": 100001}}', "settings.pinnedTokens", "outOfRange"),
        ('{"settings": {"pinnedPages": 0}}', "settings.pinnedPages", "outOfRange"),
        ('{"settings": {"pinnedPages": 1001}}', "settings.pinnedPages", "outOfRange"),
        ('{"scopes": {"org": {}}}', "scopes.org", "malformed"),
        ('{"scopes": {"org:$a/x": {}}}', 'scopes."org:$a/x"', "childScope"),
        ('{"scopes": {"org:$a": {}, "org:$b": {}}}', 'scopes."org:$b"', "duplicate"),
        ('{"scopes": {"t:é": {}, "t:e\\u0301": {}}}', 'scopes."t:e\u0301"', "duplicate"),
        ('{"scopes": {"a:b": {}, "a:b": {}}}', '"a:b"', "duplicate"),
        ('{"\\ud800": {}}', '"\\\\ud800"', "unknownField"),
        ("[]", "", "type"),
        ("{", "", "malformed"),
        ('{"settings": NaN}', "", "malformed"),
        ("[" * 100_000, "", "tooDeep"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_document_is_named(text: str, path: str, reason: str) -> None:
    assert refusal(text) == (path, reason)


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("[scopes", "", "malformed"),
        ('[scopes."a:b"]\n[scopes."a:b"]', "", "malformed"),
        ("x = " + "[" * 100_000, "", "tooDeep"),
        ("a." * 100_000 + "a = 1", "", "tooDeep"),
        ("settings = 2026-01-01", "settings", "type"),
    ],
)
def test_what_is_wrong_in_toml_is_named(text: str, path: str, reason: str) -> None:
    assert refusal(text, "toml") == (path, reason)


def test_a_misspelt_word_comes_with_the_one_it_resembles() -> None:
    with pytest.raises(ConfigurationInvalidError, match='did you mean "contributor"') as refused:
        load_configuration(
            '[scopes."team:$org:$team"]\naccess = [{principal = "self", role = "contributer"}]',
            "toml",
        )
    assert refused.value.code == "CONFIGURATION_INVALID"
    assert refused.value.details["path"] == 'scopes."team:$org:$team".access[0].role'


@pytest.mark.parametrize(
    "principal", ["team:acme:$team", "team:$o:$t", "team:acme:x", "team:$org:$team/log"]
)
def test_a_principal_may_be_narrower_than_a_declaration(principal: str) -> None:
    access = [{"principal": principal, "role": "viewer"}]
    text = scopes(**{"team:$org:$team": {"access": access, "children": {"log": {}}}})
    rule = load_configuration(text, "json").scopes[0].access[0]
    assert rule.principal == Pattern.parse(principal)


def test_a_principal_wider_than_every_declaration_is_refused() -> None:
    access = [{"principal": "team:$org:$team", "role": "viewer"}]
    text = scopes(**{"team:acme:$team": {"access": access}})
    path = 'scopes."team:acme:$team".access[0].principal'
    assert refusal(text) == (path, "undeclared")


@pytest.mark.parametrize(
    "parents",
    [
        {"a:$x": "b:$x", "b:$x": "c:$x", "c:$x": "a:$x"},
        {"a:$x:$y": "a:$y:$x"},
        {"a:one": "a:two", "a:two": "a:one", "a:$x": None},
        {"a:$x": "a:root", "a:root": "a:other"},
    ],
)
def test_scopes_that_could_belong_to_themselves_are_refused(parents: dict[str, str | None]) -> None:
    path, reason = refusal(scopes(**{k: {"belongsTo": v} if v else {} for k, v in parents.items()}))
    assert reason == "cyclic"
    assert path.endswith(".belongsTo")


@pytest.mark.parametrize(
    "parents",
    [
        {"a:$x": "b:$x", "b:$x": "c:$x", "c:$x": None},
        {"a:$x": "a:root", "a:root": "b:all", "b:all": None},
        {"a:$x:$y": "a:$x:root", "a:$x:root": "b:$x", "b:$x": None},
        {"a:$x": "c:$x", "b:$x": "c:$x", "c:$x": None},
    ],
)
def test_parents_without_a_loop_are_taken(parents: dict[str, str | None]) -> None:
    text = scopes(**{k: {"belongsTo": v} if v else {} for k, v in parents.items()})
    assert len(load_configuration(text, "json").scopes) == len(parents)
