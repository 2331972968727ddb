import json

import pytest

from kbstore.access import (
    Configuration,
    PinDeclaration,
    declaration_of,
    declared_concrete_addresses,
    is_declared,
    load_configuration,
)
from kbstore.limits import NAME_CODE_POINTS_MAX, SCOPE_ADDRESS_CODE_POINTS_MAX

LAYERS = """
[scopes."org:$org"]
displayLabel = "Company $org"
description = "All of a company"

[scopes."org:acme"]
description = "All of Acme"

[scopes."team:$org:$team"]
displayLabel = "$team at $org"
belongsTo = "org:$org"
children = { support = { displayLabel = "$team support", description = "Tickets" }, log = {} }

[[scopes."team:$org:$team".pages]]
key = "faq"
name = "FAQ"
description = "Asked often"
body = "Ask."
pin = true
pages = [{ key = "one", name = "One" }, { key = "two", name = "Two" }]

[[scopes."team:$org:$team".pages]]
key = "rota"
name = "Rota"

[scopes."team:acme:$team"]
belongsTo = "org:holding"

[[scopes."team:acme:$team".pages]]
key = "FAQ"
name = "Questions"
pages = [{ key = "two", name = "Second" }, { key = "three", name = "Three" }]

[scopes."team:acme:ops"]
description = "Operations"
children = { support = { displayLabel = "Help desk" }, war-room = {} }
"""


@pytest.fixture(scope="module")
def layers() -> Configuration:
    return load_configuration(LAYERS, "toml")


@pytest.mark.parametrize(
    ("address", "name", "description", "belongs_to"),
    [
        ("org:beta", "Company beta", "All of a company", None),
        ("org:acme", "Company acme", "All of Acme", None),
        ("team:beta:x", "x at beta", "", "org:beta"),
        ("team:acme:x", "x at acme", "", "org:holding"),
        ("team:acme:ops", "ops at acme", "Operations", "org:holding"),
        ("team:beta:x/support", "x support", "Tickets", "team:beta:x"),
        ("team:acme:ops/support", "Help desk", "Tickets", "team:acme:ops"),
        ("team:beta:x/log", "team:beta:x/log", "", "team:beta:x"),
    ],
)
def test_the_most_specific_declaration_that_says_it_decides(
    layers: Configuration, address: str, name: str, description: str, belongs_to: str | None
) -> None:
    scope = declaration_of(layers, address)
    assert scope is not None
    assert (scope.address, scope.name, scope.description) == (address, name, description)
    assert scope.belongs_to == belongs_to


@pytest.mark.parametrize(
    "address",
    ["org:a:b", "org", "team:acme", "x:y", "org:acme/support", "team:a:b/x", "team:a:b/log/x",
     "team:a:b/war-room", "org:acme/"],
)  # fmt: skip
def test_what_is_not_declared_is_none(layers: Configuration, address: str) -> None:
    assert declaration_of(layers, address) is None
    assert not is_declared(layers, address)


def test_child_scopes_of_all_declarations_are_listed(layers: Configuration) -> None:
    beta, ops = declaration_of(layers, "team:beta:x"), declaration_of(layers, "team:acme:ops")
    assert beta is not None
    assert ops is not None
    assert beta.children == ("team:beta:x/log", "team:beta:x/support")
    assert ops.children == (
        "team:acme:ops/log",
        "team:acme:ops/support",
        "team:acme:ops/war-room",
    )


def test_concrete_addresses_come_with_their_children(layers: Configuration) -> None:
    assert declared_concrete_addresses(layers) == (
        "org:acme",
        "team:acme:ops",
        "team:acme:ops/log",
        "team:acme:ops/support",
        "team:acme:ops/war-room",
    )
    assert declared_concrete_addresses(Configuration.empty()) == ()


def test_template_pages_are_parents_first(layers: Configuration) -> None:
    scope = declaration_of(layers, "team:beta:x")
    assert scope is not None
    assert [page.path for page in scope.templates.pages] == [
        ("faq",),
        ("faq", "one"),
        ("faq", "two"),
        ("rota",),
    ]
    assert [page.name for page in scope.templates.below(())] == ["FAQ", "Rota"]
    assert [page.name for page in scope.templates.below(("FAQ",))] == ["One", "Two"]
    assert scope.templates.below(("rota",)) == ()


def test_a_page_declared_again_replaces_what_it_states(layers: Configuration) -> None:
    scope = declaration_of(layers, "team:acme:ops")
    assert scope is not None
    templates = scope.templates
    assert [(page.path, page.name) for page in templates.pages] == [
        (("FAQ",), "Questions"),
        (("FAQ", "one"), "One"),
        (("FAQ", "two"), "Second"),
        (("FAQ", "three"), "Three"),
        (("rota",), "Rota"),
    ]
    faq = templates.page(("faq",))
    assert faq is not None
    assert (faq.description, faq.body, faq.pin) == ("Asked often", "Ask.", PinDeclaration())
    assert templates.page(("faq", "TWO")) == templates.pages[2]
    assert templates.page(("two",)) is None


def test_scopes_of_one_pattern_share_their_template_pages(layers: Configuration) -> None:
    one, two = declaration_of(layers, "team:beta:x"), declaration_of(layers, "team:beta:y")
    assert one is not None
    assert two is not None
    assert one.templates is two.templates


def test_a_filled_in_label_is_cut_at_the_limit_of_a_name() -> None:
    label = "x" * (NAME_CODE_POINTS_MAX - 4) + "$org"
    configuration = load_configuration(
        json.dumps({"scopes": {"org:$org": {"displayLabel": label}}}), "json"
    )
    address = "org:" + "y" * (SCOPE_ADDRESS_CODE_POINTS_MAX - 4)
    scope = declaration_of(configuration, address)
    assert scope is not None
    assert scope.name == "x" * (NAME_CODE_POINTS_MAX - 4) + "yyyy"


def test_a_scope_is_resolved_once(layers: Configuration) -> None:
    address = "team:beta:cached"
    assert declaration_of(layers, address) is declaration_of(layers, address)
