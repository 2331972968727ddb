"""Whatever happened: the tables answer as the states do, and replaying gives the same rows."""

from contextlib import closing
from uuid import UUID

from hypothesis import given, settings

from kbstore.domain.events import Links
from kbstore.domain.state import PageState
from projections.projector import Projections
from projections.replay import replay
from projections.verify import verify
from tests.backends import Databases
from tests.unit.projections.history import History, open_database
from tests.unit.projections.random_history import SCOPES, Operation, commits, write
from tests.unit.projections.rows import all_rows, broken_intervals


@settings(max_examples=60)
@given(commits)
def test_rows_are_sound_and_equal_replayed_ones(
    databases: Databases, wanted: list[list[Operation]]
) -> None:
    with databases.lent() as url, closing(open_database(url)) as database:
        history = History(database)
        write(history, wanted)
        live = all_rows(history.connection, history.kb_id, 1)
        assert broken_intervals(live) == []
        _check_pages(history)
        _check_notes_and_pins(history)
        _check_links(history, live)
        replay(
            history.connection,
            history.kb_id,
            history.connection,
            7,
            Projections(),
            1,
            history.revision,
        )
        assert all_rows(history.connection, history.kb_id, 7) == live
        assert verify(history.database, history.kb_id, Projections()).failures == ()
        history.connection.close()


def _check_pages(history: History) -> None:
    lookup, states = history.lookup(), history.states
    for page in states.pages.values():
        assert lookup.page(page.page_id) == page
        assert lookup.ended_at(page.page_id) == states.ended_at.get(page.page_id)
        for version, state in states.page_versions[page.page_id].items():
            assert lookup.page_at_version(page.page_id, version) == state
        assert lookup.page_at_version(page.page_id, page.version + 1) is None
        for revision, pages in enumerate(states.revisions):
            then = pages.get(page.page_id)
            expected = then if then is not None and then.is_live else None
            assert lookup.page_at_revision(page.page_id, revision) == expected
        children = states.children(page.page_id)
        assert set(_ids(lookup.children(page.page_id, 99))) == set(_ids(children))
        _check_tree(history, page)
    for revision, deleted in states.deleted_by.items():
        found = lookup.deleted_by(revision, 99)
        assert [page.page_id for page in found] == deleted[::-1]
    assert lookup.scope_addresses() == {page.scope for page in states.pages.values()}
    for scope in SCOPES:
        tops = [p for p in states.live() if p.is_scope_page and p.scope == scope]
        assert lookup.scope_page(scope) == tops[0]
        named = [p for p in states.live() if p.name == "Refunds" and p.scope == scope]
        assert set(_ids(lookup.pages_named("Refunds", {scope}, 99))) == set(_ids(named))


def _check_tree(history: History, page: PageState) -> None:
    lookup, states = history.lookup(), history.states
    above, ancestors = page, []
    while above.parent_id is not None:
        above = states.pages[above.parent_id]
        ancestors.append(above)
    assert lookup.ancestors(page.page_id) == ancestors
    if page.is_live:
        below = states.below(page.page_id)
        subtree = lookup.subtree(page.page_id, 999)
        assert subtree[0] == page
        assert set(_ids(subtree[1:])) == set(_ids(below))
        levels = {p.page_id: n for n, p in enumerate(subtree)}
        assert all(levels[p.parent_id] < levels[p.page_id] for p in subtree[1:] if p.parent_id)
        assert {p.scope for p in subtree} == {page.scope}
        depths = [_depth(history, p) for p in below]
        expected = max(depths, default=len(ancestors)) - len(ancestors) + 1
        assert lookup.subtree_levels(page.page_id) == expected


def _depth(history: History, page: PageState) -> int:
    return len(history.lookup().ancestors(page.page_id))


def _check_notes_and_pins(history: History) -> None:
    lookup, states = history.lookup(), history.states
    for note in states.notes.values():
        assert lookup.note(note.note_id) == note
        assert lookup.notes(note.page_id, 99) == states.notes_on(note.page_id)
    for pin in states.pins.values():
        assert lookup.pin(pin.pin_id) == pin


def _check_links(history: History, live: dict[str, list[dict[str, object]]]) -> None:
    """Current rows are those of the texts of live pages, led on to where merges end."""
    states = history.states
    expected = set()
    sources: list[tuple[UUID, UUID | None, Links | None]] = [
        (page.page_id, None, page.links) for page in states.live()
    ]
    sources += [
        (note.page_id, note.note_id, note.links)
        for note in states.notes.values()
        if not note.removed and states.pages[note.page_id].is_live
    ]
    for page_id, note_id, links in sources:
        bound = dict(links.bound if links else ())
        for index, target in enumerate(history.targets_of(links)):
            page = states.pages.get(bound.get(index, page_id))
            assert page is not None
            into = (page.merged_into or page.page_id).bytes if index in bound else None
            note = note_id.bytes if note_id else None
            expected.add((page_id.bytes, note, index, target, into))
    found = [
        (r["source_page"], r["source_note"], r["ordinal"], r["target"], r["target_page"])
        for r in live["links"]
        if r["to_revision"] == 2**53
    ]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert all((r["target_page"] is None) != (r["target_fold"] is None) for r in live["links"])


def _ids(pages: list[PageState]) -> list[object]:
    return [page.page_id for page in pages]
