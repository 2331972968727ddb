"""Reads a configuration from TOML or JSON; a typo is refused by name, never passed over.

An access rule that is silently not understood grants nothing, or too much, and nobody sees
it: so every key, word and reference is checked here, once, before anything is stored.
"""

import json
import re
import tomllib
from typing import Literal

from kbstore.access.addresses import Pattern, check_segment, parameters_in
from kbstore.access.checking import check_references
from kbstore.access.configuration import (
    ROLE_WORDS,
    AccessRule,
    ChildDeclaration,
    Configuration,
    PageDeclaration,
    PinDeclaration,
    PinKind,
    ScopeDeclaration,
    Settings,
    dump_configuration,
)
from kbstore.access.reading import Node, invalid
from kbstore.limits import (
    CONFIGURATION_BYTES_MAX,
    NESTING_LEVELS_MAX,
    PIN_DEPTH_LEVELS_MAX,
    PINNED_PAGES_MAX,
    PINNED_TOKENS_MAX,
    READ_TOKENS_MAX,
    READ_TOKENS_MIN,
)
from kbstore.text.normalise import clean_body, clean_description, clean_key, clean_name, fold_key

Format = Literal["toml", "json"]

_SCOPE_FIELDS = ("access", "belongsTo", "children", "description", "displayLabel", "pages")
_CHILD_FIELDS = ("access", "description", "displayLabel", "pages")
_PAGE_FIELDS = ("body", "description", "key", "name", "pages", "pin")
_PIN_KINDS: dict[str, PinKind] = {"page": "page", "list": "list"}

# tomllib's time grows with the square of a dotted key's parts; ours have five at most.
_DOTTED_KEY_PARTS_MAX = 32
_LONG_DOTTED_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{_DOTTED_KEY_PARTS_MAX}}}"
)


def load_configuration(text: str, format: Format) -> Configuration:
    """The configuration a text declares; texts that say the same give equal ones.

    Keys, names, descriptions and bodies are cleaned and limited as those of written pages
    are. Raises ConfigurationInvalidError, whose `details.path` leads to the key at fault, such
    as `scopes."team:$org:$team".access[0].role`; it is empty where the whole text is at fault.
    """
    _check_size(text)
    fields = Node(_parse(text, format), "").fields("scopes", "settings")
    scopes = _read_scopes(fields["scopes"]) if "scopes" in fields else ()
    settings = _read_settings(fields["settings"]) if "settings" in fields else Settings()
    configuration = Configuration(scopes=scopes, settings=settings)
    check_references(configuration)
    # What is stored is the canonical text, which must itself load again.
    _check_size(dump_configuration(configuration))
    return configuration


def _check_size(text: str) -> None:
    # Each code point takes a byte or more: a text far too long is not even encoded.
    too_long = len(text) > CONFIGURATION_BYTES_MAX
    if too_long or len(text.encode("utf-8", "replace")) > CONFIGURATION_BYTES_MAX:
        raise invalid("", f"has more than {CONFIGURATION_BYTES_MAX} bytes.", "tooLong")


def _parse(text: str, format: Format) -> object:
    try:
        if format == "json":
            return json.loads(
                text, object_pairs_hook=_unique_object, parse_constant=_refuse_constant
            )
        if _LONG_DOTTED_KEY.search(text):
            raise invalid("", f"has a dotted key of over {_DOTTED_KEY_PARTS_MAX} parts.", "tooDeep")
        return tomllib.loads(text)
    except RecursionError:
        raise invalid("", "is nested too deeply.", "tooDeep") from None
    except ValueError as error:
        raise invalid("", f"is not valid {format.upper()}: {error}.", "malformed") from None


def _unique_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object, refused where a name stands twice: the second would silently win."""
    table: dict[str, object] = {}
    for name, value in pairs:
        if name in table:
            Node(None, "").inner(name, None).fail("stands twice in one object.", "duplicate")
        table[name] = value
    return table


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _read_settings(node: Node) -> Settings:
    fields = node.fields("requireExpectedVersion", "readTokens", "pinnedTokens", "pinnedPages")
    default = Settings()

    def number(name: str, minimum: int, maximum: int, usual: int) -> int:
        return fields[name].integer(minimum, maximum) if name in fields else usual

    required = fields.get("requireExpectedVersion")
    return Settings(
        require_expected_version=required is not None and required.boolean(),
        read_tokens=number("readTokens", READ_TOKENS_MIN, READ_TOKENS_MAX, default.read_tokens),
        pinned_tokens=number("pinnedTokens", 1, PINNED_TOKENS_MAX, default.pinned_tokens),
        pinned_pages=number("pinnedPages", 1, PINNED_PAGES_MAX, default.pinned_pages),
    )


def _read_scopes(node: Node) -> tuple[ScopeDeclaration, ...]:
    scopes: dict[tuple[str, ...], ScopeDeclaration] = {}
    for key, entry in node.entries():
        pattern = Node(key, entry.path).checked(Pattern.parse)
        if pattern.child:
            entry.fail(
                'names a child scope; declare it under "children" of its parent.', "childScope"
            )
        # `team:$a` and `team:$b` hold the same addresses: no order between them would be clear.
        shape = tuple("$" if s.startswith("$") else s for s in pattern.segments)
        if shape in scopes:
            entry.fail(f'declares the same scopes as "{scopes[shape].pattern.text}".', "duplicate")
        scopes[shape] = _read_scope(pattern, entry)
    return tuple(sorted(scopes.values(), key=lambda scope: scope.pattern.text))


def _read_scope(pattern: Pattern, node: Node) -> ScopeDeclaration:
    fields = node.fields(*_SCOPE_FIELDS)
    return ScopeDeclaration(
        pattern=pattern,
        description=_read_description(fields),
        display_label=_read_label(fields, pattern),
        belongs_to=_read_parent(fields, pattern),
        access=_read_access(fields["access"]) if "access" in fields else (),
        children=_read_children(fields["children"], pattern) if "children" in fields else (),
        pages=_read_pages(fields["pages"], 1) if "pages" in fields else (),
    )


def _read_children(node: Node, parent: Pattern) -> tuple[ChildDeclaration, ...]:
    children: dict[str, ChildDeclaration] = {}
    for key, entry in node.entries():
        name = Node(key, entry.path).checked(lambda text: check_segment(text, "children"))
        if fold_key(name) in children:
            entry.fail("has the name of another child scope, but for case.", "duplicate")
        # The child of a concrete scope has a known address, which has to be a possible one.
        Node(f"{parent.text}/{name}", entry.path).checked(Pattern.parse)
        children[fold_key(name)] = _read_child(name, entry, parent)
    return tuple(sorted(children.values(), key=lambda child: child.name))


def _read_child(name: str, node: Node, parent: Pattern) -> ChildDeclaration:
    fields = node.fields(*_CHILD_FIELDS)
    return ChildDeclaration(
        name=name,
        description=_read_description(fields),
        display_label=_read_label(fields, parent),
        access=_read_access(fields["access"]) if "access" in fields else None,
        pages=_read_pages(fields["pages"], 1) if "pages" in fields else (),
    )


def _read_access(node: Node) -> tuple[AccessRule, ...]:
    return tuple(_read_rule(item) for item in node.items())


def _read_rule(node: Node) -> AccessRule:
    fields = node.fields("principal", "role")
    for name in ("principal", "role"):
        if name not in fields:
            node.fail(f'needs "{name}".', "missing")
    principal = fields["principal"]
    return AccessRule(
        principal=None if principal.text() == "self" else principal.checked(Pattern.parse),
        role=fields["role"].choice(ROLE_WORDS),
    )


def _read_description(fields: dict[str, Node]) -> str | None:
    node = fields.get("description")
    return None if node is None else node.checked(clean_description)


def _read_label(fields: dict[str, Node], pattern: Pattern) -> str | None:
    node = fields.get("displayLabel")
    if node is None:
        return None
    label = node.checked(clean_name)
    _check_bound(node, parameters_in(label), pattern)
    return label


def _read_parent(fields: dict[str, Node], pattern: Pattern) -> Pattern | None:
    node = fields.get("belongsTo")
    if node is None:
        return None
    parent = node.checked(Pattern.parse)
    if parent.child:
        node.fail("must name a scope, not a child scope.", "childScope")
    _check_bound(node, parent.parameters, pattern)
    return parent


def _check_bound(node: Node, used: frozenset[str], pattern: Pattern) -> None:
    unbound = sorted(used - pattern.parameters)
    if unbound:
        node.fail(f'uses ${unbound[0]}, which "{pattern.text}" does not bind.', "unbound")


def _read_pages(node: Node, level: int) -> tuple[PageDeclaration, ...]:
    """Pages of one parent; recurses at most NESTING_LEVELS_MAX deep."""
    items = node.items()
    if items and level > NESTING_LEVELS_MAX:
        node.fail(f"nests deeper than {NESTING_LEVELS_MAX} levels.", "tooDeep")
    pages: dict[str, PageDeclaration] = {}
    for item in items:
        fields = item.fields(*_PAGE_FIELDS)
        for name in ("key", "name"):
            if name not in fields:
                item.fail(f'needs "{name}".', "missing")
        key = fields["key"].checked(clean_key)
        if fold_key(key) in pages:
            fields["key"].fail(f'"{key}" is the key of another page here.', "duplicate")
        pages[fold_key(key)] = _read_page(key, fields, level)
    return tuple(pages.values())


def _read_page(key: str, fields: dict[str, Node], level: int) -> PageDeclaration:
    return PageDeclaration(
        key=key,
        name=fields["name"].checked(clean_name),
        description=_read_description(fields) or "",
        body=fields["body"].checked(clean_body) if "body" in fields else None,
        pin=_read_pin(fields["pin"]) if "pin" in fields else None,
        pages=_read_pages(fields["pages"], level + 1) if "pages" in fields else (),
    )


def _read_pin(node: Node) -> PinDeclaration | None:
    """`true` and `"page"` pin the page, `"list"` the pages below it, `{kind, depth}` says all."""
    if node.is_boolean():
        return PinDeclaration() if node.boolean() else None
    if not node.is_table():
        return PinDeclaration(kind=node.choice(_PIN_KINDS))
    fields = node.fields("kind", "depth")
    kind: PinKind = fields["kind"].choice(_PIN_KINDS) if "kind" in fields else "page"
    if "depth" not in fields:
        return PinDeclaration(kind=kind)
    if kind != "list":
        fields["depth"].fail('is only for pins of the kind "list".', "outOfPlace")
    return PinDeclaration(kind=kind, depth=fields["depth"].integer(1, PIN_DEPTH_LEVELS_MAX))
