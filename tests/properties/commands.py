"""Commands that continue the story: mostly sensible ones, with every kind of nonsense between.

Each maker gives a command for a caller on the model's state. Inside a batch `places` are the
`$n` of the pages that earlier operations create.
"""

from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

from msgspec import UNSET, UnsetType

from kbstore.access import Caller, Role, dump_configuration, load_configuration
from kbstore.domain.commands import (
    ANY_VERSION,
    AddNote,
    Configure,
    CreatePage,
    DeletePage,
    EditPage,
    Expected,
    MergePage,
    MovePage,
    PageOperation,
    PageTarget,
    RemoveNote,
    RemovePin,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.domain.declared import declared_pages
from kbstore.domain.events import ReplacedRange
from kbstore.domain.state import NoteState, PageState
from kbstore.text import LineRange, Position, replace_range
from kbstore.texts import PreparedBody
from tests.properties.drawing import Draw
from tests.properties.house import CONFIGURATIONS_MAX, SCOPES, configuration
from tests.properties.world import World

Make = Callable[[World, Draw, Caller, Sequence[str]], PageOperation]
KEYS = ("faq", "FAQ", "straße", "STRASSE", "é", "e\u0301", "a", "policies", "refund")
NAMES = ("Refunds", "Policies", "Straße", "Page")


# --- what a command can be about ------------------------------------------------------------


def pages_for(world: World, caller: Caller, role: Role) -> list[PageState]:
    """The pages, written or declared, on whose scope the caller has the role."""
    access = world.access(caller)
    found = [page for page in world.model.live_pages() if _may(access.role(page.scope), role)]
    for scope in SCOPES:
        if _may(access.role(scope), role):
            model = world.model
            declared = declared_pages(model.configuration, world.kb_id, scope, model)
            found.extend(page.state for page in declared)
    return found


def _may(actual: Role | None, needed: Role) -> bool:
    return actual is not None and actual >= needed


def target(
    world: World, draw: Draw, caller: Caller, role: Role, places: Sequence[str] = ()
) -> tuple[PageTarget, PageState | None]:
    """A page the caller may do this to, now and then any other one, or none at all."""
    if places and draw.chance(40):
        return draw.pick(places), None
    if draw.odd(8):
        known = world.model.live_pages() if draw.chance(50) else ended(world)
        pages = list(known)
        if pages and draw.chance(70):
            page = draw.pick(pages)
            return page.page_id, page
        return uuid4(), None
    pages = pages_for(world, caller, role)
    below = [page for page in pages if not page.is_scope_page]
    if below and draw.chance(80):
        pages = below
    if not pages:
        pages = list(world.model.live_pages())
    page = draw.pick(_deep(world, pages) if draw.chance(10) else pages)
    return page.page_id, page


def _deep(world: World, pages: list[PageState]) -> list[PageState]:
    """Those of the pages that stand lowest."""
    levels = {page.page_id: len(world.model.ancestors(page.page_id)) for page in pages}
    deepest = max(levels.values())
    return [page for page in pages if levels[page.page_id] == deepest]


def ended(world: World) -> list[PageState]:
    states = {event.originator_id: None for event in world.model.events}
    pages = (world.model.page(page_id) for page_id in states)
    return [page for page in pages if page is not None and not page.is_live]


def notes(world: World) -> list[NoteState]:
    """All notes there are, removed ones among them."""
    states = {event.originator_id: None for event in world.model.events}
    found = (world.model.note(note_id) for note_id in states)
    return [note for note in found if note is not None]


def expected(draw: Draw, page: PageState | None) -> Expected:
    """Mostly the right version or any; now and then another one."""
    if page is None:
        return draw.pick((None, ANY_VERSION, 1))
    if draw.is_careful:
        return page.version if draw.chance(50) else ANY_VERSION
    choice = draw.number(0, 9)
    if choice < 6:
        return (page.version, ANY_VERSION, None)[choice % 3]
    return page.version if choice < 8 else max(0, page.version + draw.pick((-1, 1)))


def _scope_of(world: World, draw: Draw, caller: Caller) -> str:
    access = world.access(caller)
    readable = [scope for scope in SCOPES if access.can_read(scope)]
    return draw.pick(readable) if readable and not draw.odd(5) else draw.pick(SCOPES)


def _key(world: World, draw: Draw) -> str | None:
    if draw.chance(30):
        return None
    if draw.odd(3):
        return draw.pick(("a/b", "", ".", "k" * 101))
    return draw.pick(KEYS) if draw.chance(50) else world.word()


def _name(world: World, draw: Draw) -> str:
    return draw.pick(NAMES) if draw.chance(40) else f"Name {world.word()}"


def _markdown(world: World, draw: Draw) -> str:
    """A few lines with links, all of which may lead nowhere."""
    pages = list(world.model.live_pages())
    links = [
        f"[[{draw.pick(NAMES)}]]",
        f"[up](../{draw.pick(KEYS)}.md) and [down]({draw.pick(KEYS)})",
        f"[[{draw.pick(SCOPES[:1])}#{draw.pick(KEYS)}]]",
        f"[[{draw.pick(pages).page_id}]]",
    ]
    chosen = "\n\n".join(draw.some(links)) if draw.chance(60) else ""
    return f"# Title {world.word()}\n\nText {world.word()}\n\n{chosen}\n"


def _body(world: World, draw: Draw) -> PreparedBody | None:
    return None if draw.chance(20) else world.body(_markdown(world, draw))


# --- pages ----------------------------------------------------------------------------------


def create(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> CreatePage:
    parent, page = None, None
    scope = _scope_of(world, draw, caller)
    if draw.chance(75):
        parent, page = target(world, draw, caller, Role.CONTRIBUTOR, places)
        scope = page.scope if page is not None and not draw.odd(4) else scope
    described = draw.chance(40)
    return CreatePage(
        scope=scope,
        parent=parent,
        key=_key(world, draw),
        name=world.text(_name(world, draw)),
        description=world.text(f"About {world.word()}") if described else None,
        body=_body(world, draw),
    )


def edit(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> EditPage:
    page_id, page = target(world, draw, caller, Role.EDITOR, places)
    name, described, body = draw.chance(40), draw.chance(40), draw.chance(60)
    about = None if draw.chance(30) else world.text(f"About {world.word()}")
    return EditPage(
        page=page_id,
        expected_version=expected(draw, page),
        name=world.text(_name(world, draw)) if name else UNSET,
        description=about if described else UNSET,
        body=_body(world, draw) if body else UNSET,
    )


def edit_range(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> EditPage:
    page_id, page = target(world, draw, caller, Role.EDITOR)
    before = ""
    if page is not None and page.body is not None:
        before = world.model.text(page.body.text)
    last = before.count("\n") + 1
    start = draw.number(1, last)
    end = draw.number(start, last)
    lines = LineRange(Position(start), Position(end))
    after = replace_range(before, lines, f"Line {world.word()}")
    version = expected(draw, page)
    return EditPage(
        page=page_id,
        expected_version=version
        if isinstance(version, int) or draw.odd(20) or page is None
        else page.version,
        body=world.body(after),
        range=ReplacedRange(start, end),
    )


def same(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> EditPage:
    """An edit to what is there already, whatever version is expected."""
    page_id, page = target(world, draw, caller, Role.EDITOR)
    name = page.name if page is not None else "None"
    return EditPage(page=page_id, expected_version=draw.number(0, 3), name=world.text(name))


def move(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> MovePage:
    page_id, page = target(world, draw, caller, Role.EDITOR, places)
    parent, scope = _destination(world, draw, caller, page, places)
    key: str | None | UnsetType = _key(world, draw) if draw.chance(40) else UNSET
    return MovePage(
        page=page_id, expected_version=expected(draw, page), scope=scope, parent=parent, key=key
    )


def _destination(
    world: World, draw: Draw, caller: Caller, page: PageState | None, places: Sequence[str]
) -> tuple[PageTarget | None | UnsetType, str | UnsetType]:
    choice = draw.number(0, 9)
    if choice == 0:
        return UNSET, UNSET
    if choice <= 2:
        return draw.pick((UNSET, None)), _scope_of(world, draw, caller)
    parent_id, parent = target(world, draw, caller, Role.OWNER, places)
    if parent is None or page is None:
        return parent_id, UNSET
    return parent_id, UNSET if parent.scope == page.scope else parent.scope


def merge(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> MergePage:
    page_id, page = target(world, draw, caller, Role.OWNER, places)
    noted = _with_notes(world, caller)
    if noted and draw.chance(40):
        page = draw.pick(noted)
        page_id = page.page_id
    into_id, into = target(world, draw, caller, Role.EDITOR, places)
    return MergePage(
        page=page_id,
        into=into_id,
        expected_version=expected(draw, page),
        into_version=expected(draw, into),
        on_key_collision=draw.pick(("rename", "fail")),
    )


def _with_notes(world: World, caller: Caller) -> list[PageState]:
    """Pages that can be merged away with notes on them."""
    noted = {note.page_id for note in notes(world) if not note.removed}
    pages = pages_for(world, caller, Role.OWNER)
    return [page for page in pages if page.page_id in noted and not page.is_scope_page]


def delete(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> DeletePage:
    page_id, page = target(world, draw, caller, Role.OWNER, places)
    return DeletePage(page=page_id, expected_version=expected(draw, page), subtree=draw.chance(50))


def restore(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> RestorePage:
    gone = [page for page in ended(world) if page.ended == "deleted"]
    if not gone or draw.chance(30):
        return rewind(world, draw, caller, places)
    page = draw.pick(gone)
    source = draw.number(0, 3)
    number = draw.number(1, page.version if source == 1 else world.revision)
    parent: PageTarget | None | UnsetType = UNSET
    if draw.chance(40):
        parent, _ = target(world, draw, caller, Role.CONTRIBUTOR, places)
    return RestorePage(
        page=page.page_id,
        expected_version=expected(draw, page),
        version=number if source == 1 else None,
        revision=number if source == 2 else None,
        deletion=world.model.ended_at(page.page_id) if source == 3 else None,
        parent=parent,
        key=_key(world, draw) if draw.chance(30) else UNSET,
    )


def rewind(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> RestorePage:
    page_id, page = target(world, draw, caller, Role.EDITOR, places)
    by_version = draw.chance(60)
    version = page.version if page is not None else 1
    number = draw.number(1, max(1, version if by_version else world.revision))
    return RestorePage(
        page=page_id,
        expected_version=expected(draw, page),
        version=number if by_version else None,
        revision=None if by_version else number,
    )


# --- notes and pins ---------------------------------------------------------------------------


def add_note(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> AddNote:
    page_id, _ = target(world, draw, caller, Role.CONTRIBUTOR, places)
    linked = draw.pick(list(world.model.live_pages()))
    return AddNote(
        page=page_id,
        text=world.note_text(f"Fact {world.word()} [[{draw.pick(NAMES)}]] [[{linked.page_id}]]"),
        stamps=_stamps(world, draw, caller),
        when="someday" if draw.odd(3) else draw.pick((None, "2026-10-29", "2026-10-29T14:30:00Z")),
    )


def _stamps(world: World, draw: Draw, caller: Caller) -> tuple[str, ...]:
    access = world.access(caller)
    known = [scope for scope in SCOPES if _may(access.role(scope), Role.CONTRIBUTOR)]
    return draw.some(known) if known and not draw.odd(5) else draw.some(SCOPES)


def restamp(
    world: World, draw: Draw, caller: Caller, places: Sequence[str]
) -> RestampNote | AddNote:
    if not notes(world):
        return add_note(world, draw, caller, places)
    return RestampNote(note=_note(world, draw), stamps=_stamps(world, draw, caller))


def remove_note(
    world: World, draw: Draw, caller: Caller, places: Sequence[str]
) -> RemoveNote | AddNote:
    if not notes(world):
        return add_note(world, draw, caller, places)
    return RemoveNote(note=_note(world, draw))


def _note(world: World, draw: Draw) -> UUID:
    found = notes(world)
    standing = [note for note in found if not note.removed]
    if standing and not draw.odd(15):
        found = standing
    return draw.pick(found).note_id


def set_pin(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> SetPin:
    page_id, _ = target(world, draw, caller, Role.EDITOR, places)
    kind = draw.pick(("page", "list"))
    return SetPin(
        page=page_id,
        kind=kind,
        audience=_audience(world, draw, caller),
        depth=draw.number(1, 3) if kind == "list" else 1,
    )


def remove_pin(world: World, draw: Draw, caller: Caller, places: Sequence[str]) -> RemovePin:
    page_id, _ = target(world, draw, caller, Role.EDITOR, places)
    return RemovePin(
        page=page_id,
        kind=draw.pick(("page", "list")),
        audience=_audience(world, draw, caller) if draw.chance(60) else None,
    )


def _audience(world: World, draw: Draw, caller: Caller) -> tuple[str, ...]:
    access = world.access(caller)
    known = [scope for scope in SCOPES if access.has_pin_authority(scope)]
    return draw.some(known) if known and not draw.odd(5) else draw.some(SCOPES)


# --- the knowledge base -----------------------------------------------------------------------


def configure(world: World, draw: Draw) -> Configure:
    toml = configuration(draw.number(0, CONFIGURATIONS_MAX - 1))
    current = world.model.configured_at
    text = world.text(dump_configuration(load_configuration(toml, "toml")))
    return Configure(
        configuration=text,
        expected_revision=draw.pick((current, current, ANY_VERSION, None, current + 1)),
    )


MAKERS: tuple[Make, ...] = (
    *(create,) * 4,
    *(edit,) * 4,
    *(edit_range,) * 2,
    same,
    *(move,) * 5,
    *(merge,) * 3,
    *(delete,) * 2,
    *(restore,) * 3,
    rewind,
    *(add_note,) * 3,
    *(restamp,) * 2,
    remove_note,
    *(set_pin,) * 3,
    remove_pin,
)
"""What a batch is made of. What needs a page in just the right state is tried more often."""
