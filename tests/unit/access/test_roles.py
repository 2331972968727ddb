import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbstore.access import Configuration, Role, load_configuration, role_of

HELD_NOTHING: frozenset[str] = frozenset()


def configured(text: str) -> Configuration:
    return load_configuration(text, "toml")


def test_roles_are_ordered_by_what_they_include() -> None:
    assert Role.VIEWER < Role.CONTRIBUTOR < Role.EDITOR < Role.OWNER
    assert [role.word for role in Role] == ["viewer", "contributor", "editor", "owner"]


ACME = """
[scopes."org:$org"]
access = [{ principal = "self", role = "viewer" }]

[scopes."user:$id"]

[scopes."team:$org:$team"]
access = [
  { principal = "self", role = "editor" },
  { principal = "org:$org", role = "viewer" },
  { principal = "lead:$team", role = "owner" },
]
children = { log = {}, vault = { access = [{ principal = "user:root", role = "owner" }] } }

[scopes."lead:$team"]

[scopes."team:acme:ops"]
access = [{ principal = "user:$id", role = "contributor" }]

[scopes."handbook:$org"]
access = [
  { principal = "team:$org:$team", role = "viewer" },
  { principal = "self", role = "owner" },
]
"""


@pytest.mark.parametrize(
    ("held", "address", "role"),
    [
        ("org:acme", "org:acme", Role.VIEWER),
        ("org:acme", "org:beta", None),
        ("org:acme", "team:acme:ops", Role.VIEWER),
        ("org:acme", "team:beta:ops", None),
        ("team:acme:ops", "team:acme:ops", Role.EDITOR),
        ("team:acme:ops", "team:acme:sales", None),
        # Parameters the principal does not bind stand for any value.
        ("lead:ops", "team:acme:ops", Role.OWNER),
        ("lead:ops", "team:beta:ops", Role.OWNER),
        ("lead:ops", "team:acme:sales", None),
        # A concrete declaration adds to its pattern's rules.
        ("user:ann", "team:acme:ops", Role.CONTRIBUTOR),
        ("user:ann", "team:acme:sales", None),
        # The strongest role wins.
        ("org:acme team:acme:ops user:ann", "team:acme:ops", Role.EDITOR),
        # One hop: org:acme reaches its teams, but not what these teams reach.
        ("team:acme:ops", "handbook:acme", Role.VIEWER),
        ("org:acme", "handbook:acme", None),
        # A child without access follows its parent, one with access does not.
        ("org:acme", "team:acme:ops/log", Role.VIEWER),
        ("team:acme:ops", "team:acme:ops/log", Role.EDITOR),
        ("team:acme:ops/log", "team:acme:ops/log", Role.EDITOR),
        ("team:acme:ops/log", "team:acme:ops", None),
        ("team:acme:ops/log", "handbook:acme", None),
        ("lead:ops", "team:acme:ops/vault", None),
        ("team:acme:ops/vault", "team:acme:ops/vault", None),
        ("user:root", "team:acme:ops/vault", Role.OWNER),
        ("user:root", "team:beta:x/vault", Role.OWNER),
        # Undeclared, or no address at all.
        ("team:acme:ops", "team:acme:ops/other", None),
        ("org:acme", "org:acme/", None),
        ("secret:x", "secret:x", None),
        ("team:$org:$team", "team:acme:ops", None),
        ("org:$org", "org:acme", None),
        ("lead:$team", "team:acme:ops", None),
    ],
)
def test_rules(held: str, address: str, role: Role | None) -> None:
    assert role_of(configured(ACME), frozenset(held.split()), address) is role


def test_a_narrower_declaration_cannot_cut_a_child_off_from_its_parent() -> None:
    text = """
    [scopes."team:$team"]
    access = [{ principal = "self", role = "editor" }]
    children = { log = {} }

    [scopes."team:ops"]
    children = { log = { access = [{ principal = "team:sales", role = "viewer" }] } }
    """
    configuration = configured(text)
    assert role_of(configuration, frozenset({"team:ops"}), "team:ops/log") is Role.EDITOR
    assert role_of(configuration, frozenset({"team:sales"}), "team:ops/log") is Role.VIEWER
    assert role_of(configuration, frozenset({"team:sales"}), "team:x/log") is None


def test_nothing_held_and_nothing_declared_reach_nothing() -> None:
    assert role_of(configured(ACME), HELD_NOTHING, "org:acme") is None
    assert role_of(Configuration.empty(), frozenset({"org:acme"}), "org:acme") is None


# --- an independent evaluator: the rules of access, tried one by one --------------------------

Rule = dict[str, str]
Scope = dict[str, object]
Document = dict[str, Scope]

TYPES, VALUES, CHILDREN = "tu", "ab", "cd"
BASES = [f"{t}:{v}" for t in TYPES for v in VALUES] + [
    f"{t}:{v}:{w}" for t in TYPES for v in VALUES for w in VALUES
]
ADDRESSES = BASES + [f"{base}/{child}" for base in BASES for child in CHILDREN]


def regex_of(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\$(\w+)", r"(?P<\1>[^:/]+)", re.escape(pattern)))


def slow_role(document: Document, held: frozenset[str], address: str) -> Role | None:
    base, _, child = address.partition("/")
    keys = [key for key in document if regex_of(key).fullmatch(base)]
    roles: list[Role] = []
    inherits = not child
    if child:
        having = [key for key in keys if child in children_of(document[key])]
        if having:
            widest = min(having, key=lambda key: [s[0] != "$" for s in by_weight(key)])
            inherits = "access" not in children_of(document[widest])[child]
        for key in having:
            for rule in rules_of(children_of(document[key])[child]):
                roles += roles_by(rule, key, base, {address}, held)
    if inherits:
        for key in keys:
            for rule in rules_of(document[key]):
                roles += roles_by(rule, key, base, {base, address}, held)
    return max(roles, default=None)


def by_weight(key: str) -> list[str]:
    """Segments of a key, so that comparing their fixedness compares how specific keys are."""
    segments = key.split(":")
    fixed = [s for s in segments if s[0] != "$"]
    return ["x"] * len(fixed) + ["$"] * (len(segments) - len(fixed)) + segments


def roles_by(rule: Rule, key: str, base: str, selves: set[str], held: frozenset[str]) -> list[Role]:
    role = Role[rule["role"].upper()]
    if rule["principal"] == "self":
        return [role] if selves & held else []
    reached = regex_of(key).fullmatch(base)
    assert reached is not None
    for scope in held:
        holder = regex_of(rule["principal"]).fullmatch(scope)
        if holder is not None:
            bound = holder.groupdict()
            if all(bound.get(name, value) == value for name, value in reached.groupdict().items()):
                return [role]
    return []


def children_of(scope: Scope) -> dict[str, Scope]:
    children = scope.get("children", {})
    assert isinstance(children, dict)
    return children


def rules_of(scope: Scope) -> list[Rule]:
    rules = scope.get("access", [])
    assert isinstance(rules, list)
    return rules


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Valid scopes over a few short addresses, so that patterns, rules and layers meet."""
    segment = st.sampled_from(["$x", "$y", *VALUES])
    twice = (["$x", "$x"], ["$y", "$y"])
    keys: dict[str, str] = {}
    for _ in range(draw(st.integers(1, 5))):
        rest = draw(st.lists(segment, min_size=1, max_size=2).filter(lambda s: s not in twice))
        key = ":".join([draw(st.sampled_from(TYPES)), *rest])
        keys.setdefault(re.sub(r"\$\w", "$", key), key)
    names = st.lists(st.sampled_from(list(CHILDREN)), unique=True, max_size=2)
    declared: dict[str, list[str]] = {key: draw(names) for key in keys.values()}

    def rule() -> Rule:
        key = draw(st.sampled_from(sorted(declared)))
        renamed = draw(st.permutations(["$x", "$y", "$z"]))
        principal = key.replace("$x", "$1").replace("$y", "$2")
        for mark, name in (("$1", renamed[0]), ("$2", renamed[1])):
            principal = principal.replace(mark, draw(st.sampled_from([name, *VALUES])))
        of_child = draw(st.booleans())
        if declared[key] and of_child:
            principal += "/" + draw(st.sampled_from(declared[key]))
        principal = draw(st.sampled_from(["self", principal, principal]))
        return {"principal": principal, "role": draw(st.sampled_from(list(Role))).word}

    def rules() -> list[Rule]:
        return [rule() for _ in range(draw(st.integers(0, 2)))]

    return {
        key: {
            "access": rules(),
            "children": {n: {"access": rules()} if draw(st.booleans()) else {} for n in children},
        }
        for key, children in declared.items()
    }


def loaded(document: Document) -> Configuration:
    return load_configuration(json.dumps({"scopes": document}), "json")


held_scopes = st.frozensets(st.sampled_from(ADDRESSES), max_size=4)


def check_every_role(document: Document, held: frozenset[str]) -> None:
    configuration = loaded(document)
    for address in [*ADDRESSES, "v:a", "t:a:b:a", "t:a/e"]:
        assert role_of(configuration, held, address) == slow_role(document, held, address)


@settings(max_examples=300)
@given(documents(), held_scopes)
def test_every_role_is_what_trying_all_rules_gives(
    document: Document, held: frozenset[str]
) -> None:
    check_every_role(document, held)


@pytest.mark.soak
@settings(max_examples=5_000)
@given(documents(), held_scopes)
def test_every_role_on_five_thousand_graphs(document: Document, held: frozenset[str]) -> None:
    check_every_role(document, held)


@settings(max_examples=100)
@given(documents(), held_scopes, held_scopes)
def test_holding_more_never_takes_a_role_away(
    document: Document, held: frozenset[str], more: frozenset[str]
) -> None:
    configuration = loaded(document)
    for address in ADDRESSES:
        before = role_of(configuration, held, address)
        after = role_of(configuration, held | more, address)
        assert (before or 0) <= (after or 0)


@settings(max_examples=100)
@given(documents(), held_scopes, st.sampled_from(BASES), st.data())
def test_a_concrete_declaration_never_takes_a_role_away(
    document: Document, held: frozenset[str], concrete: str, data: st.DataObject
) -> None:
    if concrete in document:
        return
    rules = [{"principal": "self", "role": data.draw(st.sampled_from(list(Role))).word}]
    child: Scope = {"access": rules}
    added: Scope = {"access": rules, "children": {"c": child}}
    configuration, more = loaded(document), loaded({**document, concrete: added})
    for address in ADDRESSES:
        before = role_of(configuration, held, address)
        assert (before or 0) <= (role_of(more, held, address) or 0)
