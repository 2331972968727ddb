"""A revision gives an auditor the same bytes for ever, whatever is written after it."""

import random
from collections.abc import Callable
from contextlib import closing
from functools import partial
from uuid import UUID

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kbstore.domain.commands import RemoveNote, RestampNote
from kbstore.errors import KBStoreError
from projections.read.activity import events, list_commits
from projections.read.backlinks import backlinks
from projections.read.children import children
from projections.read.deletions import list_deletions
from projections.read.history import history
from projections.read.notes import notes_of_page
from projections.read.pages import page, page_by_ref
from projections.read.pins import pins_of_page
from projections.read.scopes import list_scopes
from projections.snapshot import Snapshot
from tests.backends import Databases
from tests.unit.projections.read.world import ANA, AUDITOR, EVE, ORG, RED, VAULT, World

SCOPES = (ORG, RED, VAULT)
REFS = (ORG, RED, VAULT, "org:acme#policies", "org:acme#policies/refund", "org:acme#k1", "k1")


class Writer:
    """Writes at random; what the rules refuse is left undone."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.pages: list[UUID] = []
        self.notes: list[UUID] = []
        self._random = random.Random(seed)
        with world.reading() as snapshot:
            self.pages.append(page_by_ref(snapshot, "org:acme#policies/refund").id)

    def step(self) -> None:
        moves: list[Callable[[], object]] = [
            self._create,
            self._create,
            self._edit,
            self._note,
            self._change_note,
            lambda: self.world.pin(self._page(), self._scope(), kind=self._kind()),
            lambda: self.world.move(self._page(), parent=self._page()),
            lambda: self.world.move(self._page(), scope=self._scope()),
            lambda: self.world.rekey(self._page(), self._key()),
            lambda: self.world.merge(self._page(), self._page()),
            lambda: self.world.delete(self._page(), subtree=True),
            lambda: self.world.restore(self._page()),
        ]
        try:
            self._random.choice(moves)()
        except KBStoreError:
            return

    def _create(self) -> None:
        key, body = self._key(), self._body()
        parent = self._random.choice([None, *self.pages])
        made = self.world.create(self._name(), self._scope(), parent, key, body)
        self.pages.append(made)

    def _edit(self) -> None:
        self.world.edit(self._page(), body=self._body(), name=self._name())

    def _note(self) -> None:
        stamps = self._random.sample(SCOPES, 2)
        self.notes.append(self.world.note(self._page(), f"See [[{self._name()}]]", *stamps))

    def _change_note(self) -> None:
        if self.notes:
            note = self._random.choice(self.notes)
            if self._random.random() < 0.5:
                self.world.run(RemoveNote(note=note))
            else:
                self.world.run(RestampNote(note=note, stamps=(self._scope(),)))

    def _page(self) -> UUID:
        return self._random.choice(self.pages)

    def _scope(self) -> str:
        return self._random.choice(SCOPES)

    def _kind(self) -> str:
        return self._random.choice(["page", "list"])

    def _key(self) -> str | None:
        return self._random.choice([None, "k1", "k2", "k3", "k4"])

    def _name(self) -> str:
        return self._random.choice(["One", "Two", "Three", "Four"])

    def _body(self) -> str:
        target = self._random.choice(["[[One]]", "[[org:acme#k1]]", "[x](k2.md)", "[y](../k1)"])
        return f"{self._random.random()}\n{target}"


def attempt(read: Callable[[], object]) -> object:
    try:
        return msgspec.to_builtins(read())
    except KBStoreError as error:
        return [error.code, error.message, error.details]


OF_PAGES: tuple[Callable[[Snapshot, UUID], object], ...] = (
    page,
    pins_of_page,
    lambda snapshot, page: children(snapshot, page, None, 50),
    lambda snapshot, page: notes_of_page(snapshot, page, None, 50),
    lambda snapshot, page: backlinks(snapshot, page, None, 50),
    lambda snapshot, page: history(snapshot, page, None, 50),
)


def everything(snapshot: Snapshot, pages: list[UUID]) -> list[object]:
    """Every answer a snapshot gives about these pages."""
    reads: list[Callable[[], object]] = [
        partial(list_scopes, snapshot, None, 50),
        partial(list_deletions, snapshot, None, 50),
        partial(list_commits, snapshot, 0, 50),
        partial(events, snapshot, 0, 200),
        *(partial(page_by_ref, snapshot, ref) for ref in REFS),
        *(partial(read, snapshot, page) for page in pages for read in OF_PAGES),
    ]
    return [attempt(read) for read in reads]


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_revision_answers_an_auditor_the_same_for_ever(databases: Databases, seed: int) -> None:
    with databases.lent() as url, closing(World(url)) as world:
        writer = Writer(world, seed)
        shown: dict[int, tuple[list[UUID], list[object]]] = {}
        for _ in range(40):
            writer.step()
            with world.reading(AUDITOR) as snapshot:
                known = list(writer.pages)
                shown[snapshot.revision] = known, everything(snapshot, known)
        for revision, (known, before) in shown.items():
            with world.reading(AUDITOR, revision) as snapshot:
                assert everything(snapshot, known) == before


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_reader_is_shown_no_scope_out_of_his_reach(databases: Databases, seed: int) -> None:
    with databases.lent() as url, closing(World(url)) as world:
        writer = Writer(world, seed)
        for _ in range(40):
            writer.step()
        for caller, hidden in ((ANA, (VAULT,)), (EVE, (VAULT, ORG))):
            for revision in range(2, world.revision + 1):
                with world.reading(caller, revision) as snapshot:
                    answers = everything(snapshot, writer.pages)
                    shown = repr([each for each in answers if isinstance(each, dict)])
                for scope in hidden:
                    assert f"'{scope}'" not in shown
                # No body names the vault; one may name the organisation.
                assert VAULT not in shown
