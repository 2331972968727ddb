"""What both worlds have: every kind of command, by Ben, who knows nothing that is hidden, and
now and then by Ana, who writes what is partly or wholly hidden in both."""

from collections.abc import Callable, Sequence
from uuid import UUID

from msgspec import UNSET

from kbstore.access import Caller, dump_configuration, load_configuration
from kbstore.domain.commands import (
    ANY_VERSION,
    AddNote,
    Batch,
    Command,
    Configure,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    PageOperation,
    RemoveNote,
    RemovePin,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.service import Outcome
from tests.noninterference.burdens import has_hidden_below, is_burdened
from tests.noninterference.house import (
    ANA,
    BEN,
    CONFIGURATION,
    GROUND,
    GUILD,
    OPEN,
    ORG,
    ROOT,
    TEAM,
    TWINS,
)
from tests.noninterference.injected import START, STEP
from tests.noninterference.story import (
    COMPASS,
    INTERLUDE,
    KEYS,
    NAMES,
    Told,
    markdown,
    name_of,
    words,
)
from tests.noninterference.world import Make, PageAt, World


class Shared:
    """Tells in both worlds at once, and sees that it comes to the same."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._draw = told.draw

    def begin(self) -> None:
        """The configuration, a few pages, a note and a pin."""
        text = dump_configuration(load_configuration(CONFIGURATION, "toml"))
        self.run("configure", ROOT, lambda world: Configure(configuration=world.text(text)))
        for number, (scope, key) in enumerate(GROUND):
            self._create(BEN, scope, None, key, name=None if number else COMPASS)
        # So that these have their scope pages; the crypt has one only where there is more.
        for scope in TWINS:
            self._create(ANA, scope, None, "ground", words(self._draw), COMPASS)
        for scope in (ORG, TEAM):
            page = self._draw.pick([p for p in self._told.live((scope,)) if p.parent is not None])
            deletion = DeletePage(page=page.id, expected_version=ANY_VERSION)
            self._run_one(f"deletes {name_of(page)}", deletion)
        for scope in OPEN:
            page = self._draw.pick(self._told.live((scope,)))
            text_of_note = markdown(self._draw, self._told.famous())
            self._add_note(BEN, page.id, text_of_note, (scope,))
        self._pin(BEN, self._draw.pick(self._told.live((ORG,))).id, "page", (GUILD, ORG), 1)
        self.half_hidden_commit()

    def step(self) -> None:
        """One more command."""
        kinds: tuple[tuple[int, Callable[[], None]], ...] = (
            (7, self.create),
            (8, self.edit),
            (5, self.move),
            (2, self.merge),
            (3, self.delete),
            (2, self.restore),
            (6, self.note),
            (3, self.restamp),
            (2, self.remove_note),
            (5, self.pin),
            (2, self.unpin),
            (2, self.several),
            (2, self.half_hidden_note),
            (2, self.half_hidden_pin),
            (2, self.half_hidden_commit),
            (2, self.into_the_vault),
            (2, self.out_of_the_vault),
        )
        weights = [weight for weight, _ in kinds]
        self._draw.random.choices([act for _, act in kinds], weights)[0]()

    def run(self, what: str, caller: Caller, make: Make, said: str = "") -> None:
        """The same command in both worlds, but for what `make` makes to differ where it is
        hidden. With `said` the message and the run of the commit differ as well."""
        told = self._told
        told.turn += 1
        name, micros = f"{told.turn}", START + told.turn * STEP
        outcomes = []
        for world in told.worlds:
            origin = world.origin_of(caller.principal, said) if said else None
            outcome = world.run(name, micros, caller, make, origin)
            came_to = "done" if isinstance(outcome, Outcome) else outcome.code
            world.told.append(f"{name:>4} both: {caller.principal} {what}: {came_to}")
            outcomes.append(outcome)
            if isinstance(outcome, Outcome) and outcome.changed:
                world.take_in()
        plain, busy = outcomes
        assert type(plain) is type(busy), f"the worlds part at {name}, {what}: {plain} {busy}"
        if isinstance(plain, Outcome) and isinstance(busy, Outcome):
            assert plain.subjects == busy.subjects, f"the worlds part at {name}, {what}"
            events = [len(world.positions) for world in told.worlds]
            assert events[0] == events[1], f"{name}, {what}, has {events} events"
        told.take_in(plain, hidden=False)
        told.take_in_scope_pages()
        told.remember_refs()

    def _run_one(self, what: str, command: Command) -> None:
        """A command of Ben's without texts."""
        self.run(what, BEN, lambda world: command)

    # --- pages ----------------------------------------------------------------------------------

    def create(self) -> None:
        scope = self._draw.pick(OPEN)
        parent = self._draw.pick(self._told.live((scope,))) if self._draw.chance(80) else None
        key = self._draw.pick(KEYS) if self._draw.chance(75) else None
        self._create(BEN, scope, parent, key)

    def _create(
        self,
        caller: Caller,
        scope: str,
        parent: PageAt | None,
        key: str | None,
        body: str | None = None,
        name: str | None = None,
    ) -> None:
        make = self._creation(scope, parent, key, body, name)
        self.run(f"creates {key} in {scope} below {name_of(parent)}", caller, make)

    def _creation(
        self,
        scope: str,
        parent: PageAt | None,
        key: str | None,
        body: str | None = None,
        name: str | None = None,
    ) -> Callable[[World], CreatePage]:
        called = name or self._draw.pick((*NAMES, INTERLUDE))
        said = markdown(self._draw, self._told.famous()) if body is None else body
        about = f"About {self._draw.pick(NAMES)}" if self._draw.chance(40) else None
        return lambda world: CreatePage(
            scope=scope,
            parent=None if parent is None else parent.id,
            key=key,
            name=world.text(called),
            description=None if about is None else world.text(about),
            body=world.body(said),
        )

    def edit(self) -> None:
        page = self._draw.pick(self._told.live())
        self.run(f"edits {name_of(page)}", BEN, self._edition(page))

    def _edition(self, page: PageAt) -> "Callable[..., EditPage]":
        renamed = self._draw.chance(30) and page.parent is not None
        name, body = self._draw.pick(NAMES), markdown(self._draw, self._told.famous())
        about = f"About {self._draw.pick(NAMES)}"
        described = self._draw.chance(30) and page.parent is not None
        return lambda world: EditPage(
            page=page.id,
            expected_version=ANY_VERSION,
            name=world.text(name) if renamed else UNSET,
            description=world.text(about) if described else UNSET,
            body=world.body(body),
        )

    def move(self) -> None:
        page = self._movable()
        if page is None:
            return
        parent = self._draw.pick(self._told.live())
        if parent.scope != page.scope and has_hidden_below(self._told, page):
            return
        key = self._draw.pick(KEYS) if self._draw.chance(40) else UNSET
        command = MovePage(
            page=page.id,
            expected_version=ANY_VERSION,
            scope=parent.scope,
            parent=parent.id,
            key=key,
        )
        self.run(f"moves {name_of(page)} below {name_of(parent)}", BEN, lambda world: command)

    def merge(self) -> None:
        page, into = self._movable(), self._movable()
        if page is None or into is None or is_burdened(self._told, page):
            return
        command = MergePage(
            page=page.id,
            into=into.id,
            expected_version=ANY_VERSION,
            into_version=ANY_VERSION,
            on_key_collision="rename",
        )
        self.run(f"merges {name_of(page)} into {name_of(into)}", BEN, lambda world: command)

    def delete(self) -> None:
        page = self._movable()
        if page is None or has_hidden_below(self._told, page):
            return
        command = DeletePage(
            page=page.id, expected_version=ANY_VERSION, subtree=self._draw.chance(50)
        )
        self.run(f"deletes {name_of(page)}", BEN, lambda world: command)

    def restore(self) -> None:
        shared = set(self._told.pages)
        gone = [page for page in self._told.plain.ended() if page in shared]
        if gone and self._draw.chance(70):
            page_id = self._draw.pick(gone)
            command = RestorePage(page=page_id, expected_version=ANY_VERSION, key=None)
            self.run(f"brings back {page_id}", BEN, lambda world: command)
            return
        page = self._draw.pick(self._told.live())
        command = RestorePage(page=page.id, expected_version=ANY_VERSION, version=1)
        self.run(f"restores version 1 of {name_of(page)}", BEN, lambda world: command)

    def several(self) -> None:
        """A few commands in one commit."""
        scope = self._draw.pick(OPEN)
        pages = self._draw.some(self._told.live((scope,)), 3)
        makes: list[Callable[..., PageOperation]] = [self._edition(page) for page in pages]
        makes.append(self._creation(scope, self._draw.pick(pages), None))
        self.run(
            f"edits {len(pages)} pages of {scope} and creates one",
            BEN,
            lambda world: Batch(operations=tuple(make(world) for make in makes)),
        )

    # --- notes ----------------------------------------------------------------------------------

    def note(self) -> None:
        page = self._draw.pick(self._told.live())
        text = markdown(self._draw, self._told.famous())
        self._add_note(BEN, page.id, text, self._draw.part(OPEN))

    def _add_note(self, caller: Caller, page: UUID, text: str, stamps: Sequence[str]) -> None:
        self.run(
            f"notes on {page} for {', '.join(stamps)}",
            caller,
            lambda world: AddNote(page=page, text=world.note_text(text), stamps=tuple(stamps)),
        )

    def restamp(self) -> None:
        notes = self._told.notes_on(self._told.live())
        if not notes:
            return
        command = RestampNote(note=self._draw.pick(notes).id, stamps=self._draw.part(OPEN))
        self.run(
            f"stamps {command.note} for {', '.join(command.stamps)}", BEN, lambda world: command
        )

    def remove_note(self) -> None:
        notes = self._told.notes_on(self._told.live())
        if notes:
            command = RemoveNote(note=self._draw.pick(notes).id)
            self.run(f"removes {command.note}", BEN, lambda world: command)

    def half_hidden_note(self) -> None:
        """The other stamp is not the same in both worlds."""
        page, text = self._draw.pick(self._told.live()), words(self._draw)
        stamp = self._draw.pick(OPEN)
        self.run(
            f"notes on {page.id} for {stamp} and a hidden scope",
            ANA,
            lambda world: AddNote(
                page=page.id, text=world.note_text(text), stamps=(stamp, TWINS[world.number])
            ),
        )

    # --- pins -----------------------------------------------------------------------------------

    def pin(self) -> None:
        page, kind = self._draw.pick(self._told.live()), self._draw.pick(("page", "list"))
        depth = self._draw.number(1, 3) if kind == "list" else 1
        audience = (*self._draw.part(OPEN), *((GUILD,) if self._draw.chance(50) else ()))
        self._pin(BEN, page.id, kind, tuple(dict.fromkeys(audience)), depth)

    def half_hidden_pin(self) -> None:
        """Ana's part of an audience is all of it, so she pins where the worlds have no pin."""
        pinned = {pin.page for world in self._told.worlds for pin in world.pins()}
        pages = [page for page in self._told.live() if page.id not in pinned]
        if pages:
            page, scope = self._draw.pick(pages), self._draw.pick(OPEN)
            self.run(
                f"pins {page.id} (page) for {scope} and a hidden scope",
                ANA,
                lambda world: SetPin(
                    page=page.id, kind="page", audience=(scope, TWINS[world.number])
                ),
            )

    def _pin(
        self, caller: Caller, page: UUID, kind: str, audience: tuple[str, ...], depth: int
    ) -> None:
        command = SetPin(page=page, kind=kind, audience=audience, depth=depth)
        self.run(f"pins {page} ({kind}) for {', '.join(audience)}", caller, lambda world: command)

    def unpin(self) -> None:
        live = {page.id for page in self._told.live()}
        pins = [pin for pin in self._told.plain.pins() if pin.page in live and pin.audience]
        if pins:
            pin = self._draw.pick(pins)
            command = RemovePin(page=pin.page, kind=pin.kind)
            self.run(f"unpins {pin.page} ({pin.kind})", BEN, lambda world: command)

    # --- in and out of sight --------------------------------------------------------------------

    def half_hidden_commit(self) -> None:
        """What it does in a hidden scope, and says of it, is not the same in both worlds."""
        page, body = self._draw.pick(self._told.live()), words(self._draw)
        target = self._draw.pick(self._told.famous()).id

        def make(world: World) -> Batch:
            twin = CreatePage(
                scope=TWINS[world.number],
                key=f"twin-{self._told.turn}-{world.number}",
                name=world.text(NAMES[world.number]),
                body=world.body(
                    f"Amber, in the world {world.number}: [[{target}]] [[{COMPASS}]]\n"
                    * (world.number + 1)
                ),
            )
            edit = EditPage(page=page.id, expected_version=ANY_VERSION, body=world.body(body))
            return Batch(operations=(twin, edit))

        self.run("edits a page, and creates one in a hidden scope", ANA, make, "Beside")
        self._told.moments.append(len(self._told.plain.revisions) - 1)

    def into_the_vault(self) -> None:
        page = self._movable()
        if page is None or has_hidden_below(self._told, page):
            return
        self.run(
            f"moves {name_of(page)} into a hidden scope",
            ANA,
            lambda world: MovePage(
                page=page.id,
                expected_version=ANY_VERSION,
                scope=TWINS[world.number],
                key=None,
            ),
        )

    def out_of_the_vault(self) -> None:
        """Of a page that came to be there, or was moved there; it says the same in both worlds
        by then."""
        kept = [page for page in self._told.live(TWINS) if page.id.version == 7]
        if not kept or has_hidden_below(self._told, page := self._draw.pick(kept)):
            return
        name, body = self._draw.pick(NAMES), words(self._draw)
        scope = self._draw.pick(OPEN)

        def make(world: World) -> Batch:
            said = EditPage(
                page=page.id,
                expected_version=ANY_VERSION,
                name=world.text(name),
                description=None,
                body=world.body(body),
            )
            moved = MovePage(page=page.id, expected_version=ANY_VERSION, scope=scope, key=None)
            return Batch(operations=(said, moved))

        self.run(f"moves {name_of(page)} to {scope}", ANA, make, "Out")

    def _movable(self) -> PageAt | None:
        pages = [page for page in self._told.live() if page.parent is not None]
        return self._draw.pick(pages) if pages else None
