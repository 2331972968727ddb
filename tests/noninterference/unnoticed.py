"""Filters that no pair needs: with one of them gone the worlds still cannot be told apart.

Some ask what another filter, or the shape of the tree, has answered already (TWICE). Of the
others each would show only what both worlds have, or take something that no story tells of
(UNTOLD): those are gaps of these stories, and what the tests of each route are for.
"""

_SAME_SCOPE = "what stands below a readable page is in its scope at that revision"
_ENDED_IN = "the scope a page was deleted in is the one it is in now"
_PAGE_FIRST = "history is asked only of a page that shows today"
_NO_NOTES = "history leaves notes out"
_OF_PAGES = "the events of a page are none of the knowledge base"
_CHECKED = "refs._is_known asks again of each page found"
_NOTE_FIRST = "the page of a note is asked for first, and no note moves out of sight without it"
_BOTH_ENDS = "a link is only resolved to a page that was found to be readable"

TWICE: dict[str, str] = {
    "children.listed: the scope of then": _SAME_SCOPE,
    "children.counted: the scope of then": _SAME_SCOPE,
    "deletions.deleted: the scope of then": _ENDED_IN,
    "event_rows.history rows: the place of today": _PAGE_FIRST,
    "event_rows.history rows: who owned what ended": _PAGE_FIRST,
    "event_rows.history rows: the stamps": _NO_NOTES,
    "event_rows.history rows: events of the knowledge base": _OF_PAGES,
    "event_rows.between count: events of the knowledge base": _OF_PAGES,
    "rows.children_before: the scope of then": _CHECKED,
    "rows.children_before: the place of today": _CHECKED,
    "rows.children_before: who owned what ended": _CHECKED,
    "notes.of_page: the place of today": _NOTE_FIRST,
    "notes.one: the place of today": _NOTE_FIRST,
    "projections.read.links.readable_row": _BOTH_ENDS,
    "api.planned.readable_row": _SAME_SCOPE,
    "api.written.readable_row": _SAME_SCOPE,
}

_AS_OFTEN = "both worlds have each version of what they share, and an entry says little of it"
_NOT_ROUTED = "no route and no tool compares two revisions"
_SAME_NOTE = "a note on a page that comes out of hiding would have to say the same in both worlds"
_NOT_MOVED = "no note moves between a readable page and a hidden one by a merge"
_REMOVED = "few readers own nothing, and only to them a removed note is hidden"
_NOT_DELETED_SO = "no page is restored from a deletion and then hidden"
_ALL_THERE = (
    "no commit that both worlds have changes something that only its fate hides, and says so"
)
_NAMED_ALIKE = "both worlds show the same id or ref here"
_NO_VERSION = "a version of a hidden page is asked for behind the page, which is hidden"
_NO_CHANGE_TOLD = "what a refused writer is told of deleted pages is the same in both worlds"
_NO_HIDDEN_MERGE = "no pin of which one world hides a part is merged by the reader"
_KEPT_HIDDEN = "no pin loses its readable audiences and keeps hidden ones in one world alone"

_SELDOM = "few pages in the open are deleted where the reader owns nothing and asks for them then"

UNTOLD: dict[str, str] = {
    "close_matches.newest: who owned what ended": _SELDOM,
    "backlinks.bound_notes: the scope of then": _SAME_NOTE,
    "backlinks.unbound_notes: the scope of then": _SAME_NOTE,
    "deletions.deleted: the place of today": _NOT_DELETED_SO,
    "event_rows.between count: the place of today": _ALL_THERE,
    "event_rows.between count: who owned what ended": _ALL_THERE,
    "event_rows.between count: the stamps": _ALL_THERE,
    "event_rows.history rows: the scope of then": _AS_OFTEN,
    "notes.one: who owned what ended": _REMOVED,
    "notes.changes: the scope of then": _NOT_MOVED,
    "notes.changes: the place of today": _NOT_MOVED,
    "notes.changes: who owned what ended": _NOT_MOVED,
    "rows.version_row: the place of today": _NO_VERSION,
    "rows.version_row: who owned what ended": _NO_VERSION,
    "projections.read.notes.readable_row": _SAME_NOTE,
    "projections.read.deletions.readable_row": _NAMED_ALIKE,
    "projections.read.event_views.readable_row": _NAMED_ALIKE,
    "projections.read.event_views.is_readable": _NAMED_ALIKE,
    "projections.read.event_views.shown_topic": _KEPT_HIDDEN,
    "projections.read.standing.is_readable": _NAMED_ALIKE,
    "projections.read.diff.readable_row": _NOT_ROUTED,
    "api.conflicts.is_readable": _NO_CHANGE_TOLD,
    "api.planned.known_audience": _NO_HIDDEN_MERGE,
}

UNNOTICED = {**TWICE, **UNTOLD}
