"""Every link that leads to a page for a reader is among that page's backlinks, and no other."""

import random
from typing import cast
from urllib.parse import quote
from uuid import UUID

import pytest

from kbstore.access import Caller
from kbstore.errors import KBStoreError
from projections.read import backlinks
from projections.read.declared import declared_by_id
from projections.read.links import resolve_link
from projections.read.refs import standing
from projections.read.rows import readable_row
from projections.snapshot import Snapshot
from tests.backends import query
from tests.unit.projections.read.test_differences import all_backlinks
from tests.unit.projections.read.world import ANA, EVE, ORG, RED, ROOT, VAULT, World

KEYS = ("late", "Late.md", "Café", "straße", "İx", "ﬁn", "a b", "Kelvin", "policies", "refund")
NAMES = ("Late", "org:acme#late", "Café", "team:acme:red", "Refunds", "not#a:ref", "ﬁn")
SCOPES = (ORG, RED, VAULT)


def spelt(key: str, chosen: random.Random) -> str:
    """A key as a link may write it."""
    spelling = chosen.choice((key, key.upper(), key.casefold(), quote(key)))
    return chosen.choice((spelling, quote(spelling), f"{spelling}.md", f"%{ord('.'):02x}md"))


def wiki(chosen: random.Random, ids: list[UUID]) -> str:
    keys = chosen.choices(KEYS, k=chosen.randint(0, 2))
    slash = chosen.choice(("/", "//"))
    ref = f"{chosen.choice(SCOPES)}#{chosen.choice(('', slash))}{slash.join(keys)}"
    named = chosen.choice(NAMES)
    by_id = str(chosen.choice(ids)) if ids else "org:acme"
    return chosen.choice((ref, ref + slash, ref.upper(), named, by_id, by_id.upper()))


def relative(chosen: random.Random, ids: list[UUID]) -> str:
    up = "../" * chosen.randint(0, 3)
    down = "/".join(spelt(key, chosen) for key in chosen.choices(KEYS, k=chosen.randint(0, 2)))
    by_id = str(chosen.choice(ids)) if ids else "x"
    tail = chosen.choice(("", "#part", "?raw=1", "/"))
    return (chosen.choice((up + down, f"./{up}{down}", by_id)) + tail).replace(" ", "%20") or "."


def body(chosen: random.Random, ids: list[UUID]) -> str:
    wikis = [f"[[{wiki(chosen, ids)}]]" for _ in range(4)]
    return " ".join(wikis + [f"[x]({relative(chosen, ids)})" for _ in range(8)])


def grow(world: World, chosen: random.Random) -> None:
    """Pages that link to others before these are there, and move about."""
    ids: list[UUID] = []
    for _ in range(24):
        try:
            parent = chosen.choice(ids) if ids and chosen.random() < 0.6 else None
            scope = chosen.choice(SCOPES)
            if parent is not None:
                with world.reading(ROOT) as snapshot:
                    row = readable_row(snapshot, parent)
                scope = row.scope if row is not None else scope
            key = chosen.choice((*KEYS, None))
            text = body(chosen, ids)
            name = chosen.choice(NAMES)
            # Who reads less leaves more unbound.
            caller = ROOT if scope == VAULT else chosen.choice((ROOT, EVE if scope == RED else ANA))
            ids.append(world.create(name, scope, parent, key, text, caller=caller))
            if chosen.random() < 0.3:
                world.move(chosen.choice(ids), parent=chosen.choice(ids))
        except KBStoreError:
            continue
    assert len(ids) > 8


def unbound(world: World) -> list[tuple[UUID, str, str]]:
    """Source page, kind and target of the current links that no id is known of."""
    rows = query(
        world.database.reader(),
        "SELECT source_page, kind, target FROM links"
        " WHERE kb_id = ? AND target_page IS NULL AND to_revision > ?",
        world.kb_id.bytes,
        world.revision,
    )
    return [(UUID(bytes=cast(bytes, page)), str(kind), str(target)) for page, kind, target in rows]


def led_to(
    snapshot: Snapshot, links: list[tuple[UUID, str, str]]
) -> dict[UUID, set[tuple[UUID, str, str]]]:
    """The links that lead to each page for the reader."""
    found: dict[UUID, set[tuple[UUID, str, str]]] = {}
    for source_id, kind, target in links:
        source = readable_row(snapshot, source_id)
        page = None if source is None else resolve_link(snapshot, source, kind, target)
        if page is not None and is_known_by_id(snapshot, page):
            found.setdefault(page, set()).add((source_id, kind, target))
    return found


def is_known_by_id(snapshot: Snapshot, page: UUID) -> bool:
    """The pages of a scope that is not listed are known by ref alone until one is written."""
    return bool(readable_row(snapshot, page) or declared_by_id(snapshot, page))


@pytest.mark.parametrize("looked_at", [backlinks.UNBOUND_LOOKED_AT_MAX, 3])
@pytest.mark.parametrize("seed", range(6))
def test_links_that_resolve_are_found_as_backlinks(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int, looked_at: int
) -> None:
    monkeypatch.setattr(backlinks, "UNBOUND_LOOKED_AT_MAX", looked_at)
    grow(world, random.Random(seed))
    links = unbound(world)
    total = 0
    for caller in (ROOT, ANA, EVE, Caller(principal="user:nobody")):
        with world.reading(caller) as snapshot:
            expected = led_to(snapshot, links)
            for page, wanted in expected.items():
                found = {(b.page, b.kind, b.target) for b in all_backlinks(snapshot, page, 50)}
                assert wanted <= found, wanted - found
                total += len(wanted)
    assert total > 3


@pytest.mark.parametrize("looked_at", [backlinks.UNBOUND_LOOKED_AT_MAX, 4])
def test_notes_that_mention_a_page_are_found_once_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(backlinks, "UNBOUND_LOOKED_AT_MAX", looked_at)
    other = world.create("Other", key="other")
    text = "[[Late]] [[Late]] [x](late.md)"
    expected = [world.note(other, f"{number} {text}", ORG) for number in range(4)]
    world.note(other, "nothing of it", ORG)
    page = world.create("Late", key="late")
    expected += [world.note(other, f"{number} {text}", ORG) for number in range(4)]
    world.note(page, text, ORG)
    with world.reading() as snapshot:
        here = standing(snapshot, page)
        for limit in (1, 2, 3, 50):
            found: list[UUID] = []
            after: UUID | None = None
            while True:
                part = backlinks.mentioning_notes(snapshot, here, after, limit)
                found += part.items
                after = part.after
                if after is None:
                    break
            assert found == expected
