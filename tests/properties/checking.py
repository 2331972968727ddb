"""What holds after every step, and what holds at a story's end."""

from uuid import UUID

from kbstore.access import Caller, Role, is_declared
from projections.projector import Projections
from projections.tables import CURRENT
from projections.verify import verify
from tests.properties.asking import (
    Question,
    about_conflicts,
    answer,
    of_everything,
    of_name,
    of_note,
    of_page,
    of_ref,
)
from tests.properties.commands import KEYS, NAMES, ended, notes, pages_for
from tests.properties.drawing import Draw
from tests.properties.house import AUDITOR, READERS, SCOPES
from tests.properties.sightings import traces
from tests.properties.walking import check_walks, walk_down
from tests.properties.world import World

_NEVER_A_PAGE = UUID("00000000-0000-7000-8000-00000000dead")
_PAGES_REMEMBERED = 4


def check_tables(world: World) -> None:
    """The current rows are the model's live pages, and a page's version counts its events."""
    rows = world.kb.rows(
        "SELECT page_id, version, scope, parent_id, key, name FROM page_versions"
        " WHERE kb_id = ? AND to_revision = ?",
        CURRENT,
    )
    pages = {
        (
            page.page_id.bytes,
            page.version,
            page.scope,
            None if page.parent_id is None else page.parent_id.bytes,
            page.key,
            page.name,
        )
        for page in world.model.live_pages()
    }
    assert len(rows) == len(pages)
    assert set(rows) == pages
    world.kb.check_tree()
    for page in world.model.live_pages():
        assert page.version == world.event_counts[page.page_id]
    ((events,),) = world.kb.rows("SELECT count(*) FROM events WHERE kb_id = ?")
    ((position,),) = world.kb.rows("SELECT position FROM heads WHERE kb_id = ?")
    assert events == position == sum(world.event_counts.values())


def check_tree(world: World) -> None:
    """Walking down from the scopes, an auditor reaches every live page, each at one place."""
    with world.reader().reading():
        tree = walk_down(world.snapshot(AUDITOR))
    for page in world.model.live_pages():
        if not is_declared(world.model.configuration, page.scope):
            continue
        if page.is_scope_page:
            assert page.page_id in tree.tops, "a scope page is not listed"
            continue
        found = tree.summaries.get(page.page_id)
        assert found is not None, f"{page.name} cannot be reached"
        assert (found.parent, found.scope, found.key) == (page.parent_id, page.scope, page.key)
        assert (found.name, found.version) == (page.name, page.version)


def check_replay(world: World) -> None:
    """The log proves itself, and its replay gives the rows that stand."""
    report = verify(world.services.database, world.kb_id, Projections())
    assert report.failures == ()
    assert report.revision == world.revision
    assert report.checksum == world.mark.projections


def check_lists(world: World, draw: Draw) -> None:
    """Lists of one reader at one revision, walked in small parts."""
    reader = draw.pick(READERS)
    revision = draw.number(1, world.revision)
    live = [page.page_id for page in pages_for(world, reader, Role.VIEWER)]
    with world.reader().reading():
        snapshot = world.snapshot(reader, revision)
        known = [page_id for page_id in live if _is_there(world, reader, page_id, revision)]
        check_walks(snapshot, known, draw.number(1, 3))


def _is_there(world: World, reader: Caller, page_id: UUID, revision: int) -> bool:
    (question, *_) = of_page(page_id)
    return b'"code"' not in answer(world.snapshot(reader, revision), question)[:9]


# --- nobody learns what is not for him ------------------------------------------------------


def check_secrets(world: World, reader: Caller, revision: int) -> None:
    """Asks everything there is to ask; no answer holds a trace that is not for the reader,
    and none lets a page that never was for him look other than one that never was."""
    access = world.access(reader)
    may_know = world.sightings.may_know
    with world.reader().reading():
        snapshot = world.snapshot(reader, revision)
        for question in _all_questions(world, revision):
            told = answer(snapshot, question).decode()
            for trace in traces(told):
                where = told.find(trace)
                assert may_know(trace, access), (
                    f"{reader.principal} at {revision}: {question.name} tells {trace}: "
                    f"...{told[max(0, where - 400) : where + 200]}..."
                )
        if reader is AUDITOR:
            return
        for page in [*world.model.live_pages(), *ended(world)]:
            if world.sightings.was_ever_readable(page.page_id, access):
                continue
            pairs = zip(of_page(page.page_id), of_page(_NEVER_A_PAGE), strict=True)
            for hidden, missing in pairs:
                assert answer(snapshot, hidden) == answer(snapshot, missing), hidden.name


def _all_questions(world: World, revision: int) -> list[Question]:
    pages = [*world.model.live_pages(), *ended(world)]
    questions = [*of_everything(range(1, world.revision + 1))]
    for page in pages:
        questions.extend(of_page(page.page_id, max(1, page.version - 1)))
        if revision == world.revision:
            for version in {1, page.version - 1}:
                questions.extend(about_conflicts(page.page_id, version))
    questions.extend(of_note(note.note_id) for note in notes(world))
    for scope in SCOPES:
        questions.extend(of_ref(f"{scope}#{key}") for key in ("", *KEYS, "policies/refund"))
    for name in NAMES:
        questions.extend(of_name(name))
    return questions


# --- the past stays as it was -----------------------------------------------------------------


class Memory:
    """What an auditor was told at each revision when it was the newest one."""

    def __init__(self) -> None:
        self._told: dict[int, list[tuple[Question, bytes]]] = {}

    def remember(self, world: World) -> None:
        """Asks about some pages, in turn, about every note, and for the lists."""
        if world.revision in self._told:
            return
        pages = [*world.model.live_pages(), *ended(world)]
        start = world.revision * _PAGES_REMEMBERED % max(1, len(pages))
        chosen = [*pages, *pages][start : start + _PAGES_REMEMBERED]
        questions = [*of_everything((world.revision,))]
        for page in chosen:
            questions.extend(of_page(page.page_id, page.version))
        questions.extend(of_note(note.note_id) for note in notes(world)[-3:])
        questions.extend(of_ref(f"{SCOPES[0]}#{key}") for key in KEYS[:3])
        questions.extend(of_name(NAMES[world.revision % len(NAMES)]))
        with world.reader().reading():
            snapshot = world.snapshot(AUDITOR, world.revision)
            self._told[world.revision] = [(q, answer(snapshot, q)) for q in questions]

    def check(self, world: World) -> None:
        """Asks all of it again."""
        for revision, told in self._told.items():
            with world.reader().reading():
                snapshot = world.snapshot(AUDITOR, revision)
                for question, before in told:
                    now = answer(snapshot, question)
                    assert now == before, f"{question.name} at {revision}: {before!r} {now!r}"
