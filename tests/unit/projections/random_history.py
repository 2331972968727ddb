"""Random histories: any list of numbers becomes commits whose events continue what is there."""

from uuid import UUID

from hypothesis import strategies as st

from kbstore.domain.state import PageState
from kbstore.limits import NESTING_LEVELS_MAX
from tests.unit.projections.history import History, Wanted

SCOPES = ("org:acme", "team:acme:support", "team:acme:sales")
KEYS = (None, "faq", "FAQ", "straße", "STRASSE", "a", "b")
NAMES = ("Refunds", "refunds", "Café", "Réfunds", "Page")
LINKS: tuple[Wanted, ...] = (
    ("wiki", "Refunds", 1),
    ("wiki", "Café", 2),
    ("relative", "../faq.md", 3),
)

Operation = tuple[int, int, int, int]
numbers = st.integers(0, 997)
operations: st.SearchStrategy[Operation] = st.tuples(st.integers(0, 18), numbers, numbers, numbers)
commits = st.lists(st.lists(operations, min_size=1, max_size=4), min_size=1, max_size=14)


def write(history: History, wanted: list[list[Operation]]) -> None:
    """Founds a knowledge base of three scopes, then writes what the numbers say."""
    history.found()
    history.configure()
    tops = [history.create(scope=scope, name=scope, template="") for scope in SCOPES]
    for top in tops:
        history.create(scope=history.page(top).scope, parent=top, key="a", name="Page")
    for group in wanted:
        with history.commit():
            for operation in group:
                _write_one(history, operation)


def _write_one(history: History, operation: Operation) -> None:
    kind, a, b, c = operation
    live = history.states.live()
    page, other = live[a % len(live)], live[b % len(live)]
    match kind:
        case 0 | 1 | 2:
            _create(history, other, a, b, c)
        case 3 | 4 | 5 | 6:
            _edit(history, kind, page, b, c)
        case 7 | 8:
            _move(history, page, other, c)
        case 9 | 10:
            _merge(history, page, other)
        case 11 | 12:
            _delete(history, page)
        case 13:
            _restore(history, a, other, c)
        case 14:
            _note(history, page, other, c)
        case 15 | 16:
            _change_note(history, kind, a, b)
        case _:
            _pin_or_rewind(history, kind, page, a, b)


def _edit(history: History, kind: int, page: PageState, b: int, c: int) -> None:
    live = history.states.live()
    if kind == 3:
        history.edit(page.page_id, name=NAMES[b % 5])
    elif kind == 6:
        history.edit(page.page_id, description=None if c % 2 else f"About {c}", body=None)
    else:
        links = LINKS[: c % 4]
        bound = {n: live[(b + n) % len(live)].page_id for n in range(len(links)) if (b + n) % 2}
        history.edit(page.page_id, body=f"Body {c}\n", links=links, bound=bound)


def _create(history: History, parent: PageState, a: int, b: int, c: int) -> None:
    key = KEYS[c % len(KEYS)]
    if level(history, parent) >= NESTING_LEVELS_MAX or taken(history, parent.page_id, key):
        return
    links = LINKS[: b % 4]
    live = history.states.live()
    history.create(
        scope=parent.scope,
        parent=parent.page_id,
        key=key,
        name=NAMES[a % 5],
        description="About it" if b % 2 else None,
        body=f"Body {c}" if c % 3 else None,
        links=links if c % 3 else (),
        bound={0: live[a % len(live)].page_id} if b % 2 else {},
        template="a" if c % 7 == 0 else None,
        author="service:config" if c % 7 == 0 else None,
    )


def _move(history: History, page: PageState, parent: PageState, c: int) -> None:
    key = KEYS[c % len(KEYS)]
    below = history.states.below(page.page_id)
    inside = {page.page_id, *(p.page_id for p in below)}
    deepest = max([level(history, p) for p in below], default=level(history, page))
    levels = deepest - level(history, page) + 1
    if page.is_scope_page or parent.page_id in inside:
        return
    if level(history, parent) + levels > NESTING_LEVELS_MAX:
        return
    if not taken(history, parent.page_id, key, page.page_id):
        history.move(page.page_id, parent.page_id, key)


def _merge(history: History, page: PageState, into: PageState) -> None:
    """Children first go to the page's own parent, then the page goes away and its notes move."""
    if page.is_scope_page or page.page_id == into.page_id or page.parent_id is None:
        return
    for child in history.states.children(page.page_id):
        history.move(child.page_id, page.parent_id)
    history.merge_away(page.page_id, into.page_id)
    for note in history.states.notes_on(page.page_id):
        history.move_note(note.note_id, into.page_id)
    history.absorb(into.page_id, page.page_id, None if into.description else "Absorbed")


def _delete(history: History, page: PageState) -> None:
    if page.is_scope_page:
        return
    for below in reversed(history.states.below(page.page_id)):
        history.delete(below.page_id)
    history.delete(page.page_id)


def _restore(history: History, a: int, parent: PageState, c: int) -> None:
    gone = [page for page in history.states.pages.values() if page.ended == "deleted"]
    key = KEYS[c % len(KEYS)]
    if not gone or level(history, parent) >= NESTING_LEVELS_MAX:
        return
    if not taken(history, parent.page_id, key):
        history.restore(gone[a % len(gone)].page_id, parent.page_id, key)


def _note(history: History, page: PageState, other: PageState, c: int) -> None:
    links = LINKS[: c % 3]
    bound = {0: other.page_id} if links and c % 2 else {}
    history.note(page.page_id, f"Fact {c}", SCOPES[: 1 + c % 3], links, bound)


def _change_note(history: History, kind: int, a: int, b: int) -> None:
    notes = [
        note
        for note in history.states.notes.values()
        if not note.removed and history.page(note.page_id).is_live
    ]
    if not notes:
        return
    note = notes[a % len(notes)]
    if kind == 15:
        history.restamp(note.note_id, SCOPES[b % 3], *SCOPES[: b % 3])
    else:
        history.remove_note(note.note_id)


def _pin_or_rewind(history: History, kind: int, page: PageState, a: int, b: int) -> None:
    pins = [pin for pin in history.states.pins.values() if pin.audience]
    versions = list(history.states.page_versions[page.page_id])
    if kind == 17:
        audience = tuple(scope for n, scope in enumerate(SCOPES) if (b + 1) >> n & 1)
        history.pin(page.page_id, *(audience or SCOPES), depth=1 + a % 3)
    elif pins and b % 2:
        history.unpin(pins[a % len(pins)].pin_id)
    else:
        history.rewind(page.page_id, versions[b % len(versions)])


def level(history: History, page: PageState) -> int:
    levels = 0
    while page.parent_id is not None:
        page = history.page(page.parent_id)
        levels += 1
    return levels


def taken(history: History, parent: UUID, key: str | None, but: UUID | None = None) -> bool:
    found = key is not None and history.lookup().child_by_key(parent, key)
    return bool(found) and found.page_id != but  # type: ignore[union-attr]
