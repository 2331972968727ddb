"""What one world has for itself, and what is nothing to the reader once the story is over.

- pages in scopes he cannot read, with whatever happens to them; notes, pins and links of theirs
- notes on open pages that only hidden scopes see, and the hidden stamps of notes he sees
- pins for hidden audiences, and the hidden part of pins he sees
- pages that stood in the open and end in the vault, or deleted where he does not own
- notes that he could see and that were removed where he does not own
- webhooks of other keys
"""

from collections.abc import Callable
from uuid import UUID

from msgspec import UNSET

from kbstore.access import dump_configuration, load_configuration
from kbstore.domain.commands import (
    ANY_VERSION,
    AddNote,
    Batch,
    Configure,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    RemoveNote,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.service import Outcome
from kbstore.store.commits import Origin
from tests.noninterference.house import ANA, CLOSED, CRYPT, GUILD, OPEN, ROOT, VAULT
from tests.noninterference.injected import START, STEP
from tests.noninterference.story import COMPASS, INTERLUDE, KEYS, NAMES, Draw, Told, markdown
from tests.noninterference.world import Make, PageAt, World

_BETWEEN = 10_000
"""Microseconds from one hidden command to the next."""


class Hidden:
    """Tells in one world alone."""

    def __init__(self, told: Told, world: World, seed: str) -> None:
        self._told = told
        self._world = world
        self._draw = Draw(seed)
        self._count = 0
        self._passing: list[UUID] = []
        """Pages that live in the open for now."""
        self._to_hide: list[UUID] = []
        """Notes that the reader could see, and that are out of his sight before the end."""

    def configure(self) -> None:
        """A first configuration, before the one that both worlds have."""
        text = dump_configuration(load_configuration(f'[scopes."{CRYPT}"]', "toml"))
        self._world.run(
            "alone", START, ROOT, lambda world: Configure(configuration=world.text(text))
        )
        self._world.told.append("   0 alone: user:root configures the crypt alone")

    def step(self) -> None:
        """One more command."""
        kinds: tuple[tuple[int, Callable[[], None]], ...] = (
            (6, self.create),
            (3, self.edit),
            (2, self.move),
            (1, self.merge),
            (2, self.delete),
            (1, self.restore),
            (3, self.note_in_the_vault),
            (3, self.pin_in_the_vault),
            (4, self.hidden_note),
            (3, self.hidden_stamp),
            (3, self.hidden_audience),
            (4, self.passing_page),
            (2, self.end_passing),
            (3, self.passing_note),
            (2, self.several),
        )
        weights = [weight for weight, _ in kinds]
        self._draw.random.choices([act for _, act in kinds], weights)[0]()

    def end(self) -> None:
        """Takes what still is in the open out of sight."""
        while self._passing:
            self.end_passing()
        for note in self._to_hide:
            self._hide(note)

    def _run(self, what: str, make: Make, origin: Origin | None = None) -> Outcome | None:
        told, world = self._told, self._world
        self._count += 1
        name = f"{told.turn}.{self._count}"
        before = world.bench.clock.micros
        micros = max(before, START + told.turn * STEP) + _BETWEEN
        outcome = world.run(f"alone {self._world.number} {name}", micros, ANA, make, origin)
        came_to = "done" if isinstance(outcome, Outcome) else outcome.code
        world.told.append(f"{name:>6} alone: {what}: {came_to}")
        told.take_in(outcome, hidden=True)
        told.remember_refs()
        return outcome if isinstance(outcome, Outcome) else None

    # --- in scopes the reader cannot read ---------------------------------------------------------

    def _own(self) -> list[PageAt]:
        """The pages of the vault and the crypt that this world alone has."""
        hidden = set(self._told.hidden_pages)
        return [
            page
            for page in self._world.pages()
            if page.id in hidden and page.scope in CLOSED and page.parent is not None
        ]

    def _body(self) -> str:
        return f"{markdown(self._draw, self._told.famous())}\n[[{COMPASS}]]\n"

    def create(self) -> None:
        scope = self._draw.pick(CLOSED)
        above = [page for page in self._own() if page.scope == scope]
        parent = self._draw.pick(above).id if above and self._draw.chance(50) else None
        key = self._draw.pick(KEYS) if self._draw.chance(60) else None
        self._run(f"creates {key} in {scope}", self._creation(scope, parent, key))

    def _creation(
        self, scope: str, parent: UUID | None, key: str | None
    ) -> Callable[[World], CreatePage]:
        name, body = self._draw.pick(NAMES), self._body()
        about = f"About {self._draw.pick(NAMES)}"
        return lambda world: CreatePage(
            scope=scope,
            parent=parent,
            key=key,
            name=world.text(name),
            description=world.text(about),
            body=world.body(body),
        )

    def edit(self) -> None:
        if pages := self._own():
            page, name, body = self._draw.pick(pages), self._draw.pick(NAMES), self._body()
            self._run(
                f"edits {page.id}",
                lambda world: EditPage(
                    page=page.id,
                    expected_version=ANY_VERSION,
                    name=world.text(name),
                    body=world.body(body),
                ),
            )

    def move(self) -> None:
        if pages := self._own():
            command = MovePage(
                page=self._draw.pick(pages).id,
                expected_version=ANY_VERSION,
                scope=self._draw.pick(CLOSED),
                key=self._draw.pick(KEYS) if self._draw.chance(50) else UNSET,
            )
            self._run(f"moves {command.page} to {command.scope}", lambda world: command)

    def merge(self) -> None:
        if len(pages := self._own()) > 1:
            page, into = self._draw.random.sample(pages, 2)
            command = MergePage(
                page=page.id,
                into=into.id,
                expected_version=ANY_VERSION,
                into_version=ANY_VERSION,
                on_key_collision="rename",
            )
            self._run(f"merges {page.id} into {into.id}", lambda world: command)

    def delete(self) -> None:
        if pages := self._own():
            command = DeletePage(
                page=self._draw.pick(pages).id, expected_version=ANY_VERSION, subtree=True
            )
            self._run(f"deletes {command.page}", lambda world: command)

    def restore(self) -> None:
        hidden = set(self._told.hidden_pages)
        gone = [
            page
            for page, scope in self._world.ended().items()
            if page in hidden and scope in CLOSED
        ]
        if gone:
            command = RestorePage(
                page=self._draw.pick(gone), expected_version=ANY_VERSION, key=None
            )
            self._run(f"brings back {command.page}", lambda world: command)

    def several(self) -> None:
        """Pages at once, as an import writes them."""
        makes = [self._creation(VAULT, None, None) for _ in range(self._draw.number(2, 4))]
        self._run(
            f"imports {len(makes)} pages",
            lambda world: Batch(operations=tuple(make(world) for make in makes)),
            Origin(actor="user:ana", message="line 1", occurred_at=START),
        )

    def note_in_the_vault(self) -> None:
        """The stamp alone would let the reader see it."""
        if pages := self._own():
            page, text = self._draw.pick(pages), self._body()
            stamps = self._draw.part(OPEN)
            self._run(
                f"notes on {page.id} for {', '.join(stamps)}",
                lambda world: AddNote(page=page.id, text=world.note_text(text), stamps=stamps),
            )

    def pin_in_the_vault(self) -> None:
        """The audience alone would let the reader have it."""
        if pages := self._own():
            command = SetPin(
                page=self._draw.pick(pages).id,
                kind="page",
                audience=(GUILD, *self._draw.part(CLOSED)),
            )
            self._run(f"pins {command.page} for {', '.join(command.audience)}", lambda _: command)

    # --- beside what the reader sees --------------------------------------------------------------

    def hidden_note(self) -> None:
        """On an open page, for hidden scopes; or another word about one."""
        own = set(self._told.hidden_notes)
        on = {page.id for page in self._told.live()}
        notes = [
            note
            for note in self._world.notes()
            if note.id in own and note.page in on and set(note.stamps) <= set(CLOSED)
        ]
        if notes and self._draw.chance(40):
            note = self._draw.pick(notes)
            restamp = RestampNote(note=note.id, stamps=self._draw.part(CLOSED))
            remove = RemoveNote(note=note.id)
            is_removed = self._draw.chance(50)
            self._run(
                f"{'removes' if is_removed else 'restamps'} {note.id}",
                lambda world: remove if is_removed else restamp,
            )
            return
        page, text, stamps = (
            self._draw.pick(self._told.live()),
            self._body(),
            self._draw.part(CLOSED),
        )
        self._run(
            f"notes on {page.id} for {', '.join(stamps)}",
            lambda world: AddNote(page=page.id, text=world.note_text(text), stamps=stamps),
        )

    def hidden_stamp(self) -> None:
        """The stamps that the reader may know of stay as they are."""
        shared = set(self._told.notes)
        on = {page.id for page in self._told.live()}
        notes = [note for note in self._world.notes() if note.id in shared and note.page in on]
        if notes:
            note = self._draw.pick(notes)
            kept = tuple(stamp for stamp in note.stamps if stamp in OPEN)
            stamps = (*kept, *(s for s in CLOSED if (s in note.stamps) != self._draw.chance(60)))
            if stamps:
                command = RestampNote(note=note.id, stamps=stamps)
                self._run(f"stamps {note.id} for {', '.join(stamps)}", lambda world: command)

    def hidden_audience(self) -> None:
        """The audiences that the reader may know of stay as they are, and so does the depth."""
        page, kind = self._draw.pick(self._told.live()), self._draw.pick(("page", "list"))
        pinned = [pin for pin in self._world.pins() if (pin.page, pin.kind) == (page.id, kind)]
        kept = tuple(scope for pin in pinned for scope in pin.audience if scope in OPEN)
        depth = self._draw.number(1, 3) if kind == "list" else 1
        if kept:
            depth = pinned[0].depth
        audience = (*kept, *self._draw.part(CLOSED))
        command = SetPin(page=page.id, kind=kind, audience=audience, depth=depth)
        self._run(f"pins {page.id} ({kind}) for {', '.join(audience)}", lambda world: command)

    # --- in the open for a while ------------------------------------------------------------------

    def passing_page(self) -> None:
        """Its key is its own, and nobody links to it by its name."""
        key = f"passing-{self._world.number}-{self._count}"
        if self._passing and self._draw.chance(50):
            self._live_on(self._draw.pick(self._passing))
            return
        parent = self._draw.pick(self._told.famous())
        body = f"Amber basalt in passing [[{parent.id}]] [[{COMPASS}]]\n"
        outcome = self._run(
            f"creates {key} in {parent.scope} below {parent.id}",
            lambda world: CreatePage(
                scope=parent.scope,
                parent=parent.id,
                key=key,
                name=world.text(INTERLUDE),
                body=world.body(body),
            ),
        )
        if outcome is not None:
            page = outcome.subjects[0].id
            self._passing.append(page)
            text, stamps = f"Said in passing {body}", self._draw.part(OPEN)
            self._run(
                f"notes on {page} for {', '.join(stamps)}",
                lambda world: AddNote(page=page, text=world.note_text(text), stamps=stamps),
            )
            self._remember()

    def _remember(self) -> None:
        """The next commit that both worlds have is one at which this can be looked for."""
        self._told.moments.append(len(self._world.revisions))

    def _live_on(self, page: UUID) -> None:
        body = f"# Passing\n\n{self._body()}"
        command = SetPin(page=page, kind="page", audience=(GUILD,))
        stamps = self._draw.part(OPEN)
        match self._draw.number(0, 2):
            case 0:
                self._run(
                    f"edits {page}",
                    lambda world: EditPage(
                        page=page, expected_version=ANY_VERSION, body=world.body(body)
                    ),
                )
            case 1:
                self._run(
                    f"notes on {page}",
                    lambda world: AddNote(page=page, text=world.note_text(body), stamps=stamps),
                )
            case _:
                self._run(f"pins {page}", lambda world: command)

    def end_passing(self) -> None:
        """Moves one into the vault, or deletes it where the reader does not see what ended."""
        if not self._passing:
            return
        page = self._passing.pop(self._draw.number(0, len(self._passing) - 1))
        (scope,) = (each.scope for each in self._world.pages() if each.id == page)
        if self._told.reader.owns(scope) or self._draw.chance(40):
            command = MovePage(
                page=page, expected_version=ANY_VERSION, scope=self._draw.pick(CLOSED)
            )
            self._run(f"moves {page} to {command.scope}", lambda world: command)
        else:
            deletion = DeletePage(page=page, expected_version=ANY_VERSION, subtree=True)
            self._run(f"deletes {page}", lambda world: deletion)

    def passing_note(self) -> None:
        """It ends hidden by its stamps; or removed, where nobody who may see that reads."""
        page, text = self._draw.pick(self._told.famous()), self._body()
        stamps = self._draw.part(OPEN)
        outcome = self._run(
            f"notes on {page.id} for a while, for {', '.join(stamps)}",
            lambda world: AddNote(page=page.id, text=world.note_text(text), stamps=stamps),
        )
        if outcome is not None:
            self._to_hide.append(outcome.subjects[0].id)
            self._remember()

    def _hide(self, note: UUID) -> None:
        # Its page may have moved to where the reader owns, and there he sees what was removed.
        if any(self._told.reader.owns(scope) for scope in OPEN) or self._draw.chance(50):
            restamp = RestampNote(note=note, stamps=self._draw.part(CLOSED))
            self._run(f"stamps {note} for {', '.join(restamp.stamps)}", lambda world: restamp)
        else:
            remove = RemoveNote(note=note)
            self._run(f"removes {note}", lambda world: remove)
