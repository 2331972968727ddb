"""What stands around a page: children, notes, pins, backlinks, history, and differences."""

from msgspec import field

from api.answers import Answer
from api.calls import Call
from api.listing import Part, Walk, Window, id_key, pair_key, position_key, read_list
from api.operations import reads
from api.parameters import AtRevision, ListAt, Version
from api.reading import Found, State, page_id_of, read
from api.representations import (
    BacklinkList,
    DiffRead,
    HistoryList,
    NoteList,
    PageList,
    PinList,
)
from projections.read.backlinks import backlinks
from projections.read.children import children
from projections.read.diff import diff_versions
from projections.read.history import history
from projections.read.notes import notes_of_page
from projections.read.pins import pins_of_page


class HistoryParameters(ListAt, frozen=True, kw_only=True):
    newest_first: bool = False


class DiffParameters(AtRevision, frozen=True, kw_only=True):
    """Two versions of the page."""

    from_version: Version = field(name="from")
    to_version: Version = field(name="to")


@reads(
    "listChildren",
    "/pages/{pageId}/children",
    "List the pages directly below a page",
    parameters=ListAt,
    answer=PageList,
    is_list=True,
)
async def list_children(call: Call, given: ListAt) -> Answer:
    page_id = page_id_of(call)

    def query(state: State, window: Window) -> Part:
        found = children(state.snapshot, page_id, window.after_id, window.limit)
        return Part(PageList, found.items, id_key(found.after))

    walk = Walk(operation="listChildren", shape=(str(page_id),))
    return await read_list(call, given, walk, query)


@reads(
    "listNotes",
    "/pages/{pageId}/notes",
    "List the notes on a page, oldest first",
    parameters=ListAt,
    answer=NoteList,
    is_list=True,
)
async def list_notes(call: Call, given: ListAt) -> Answer:
    page_id = page_id_of(call)

    def query(state: State, window: Window) -> Part:
        found = notes_of_page(state.snapshot, page_id, window.after_id, window.limit)
        return Part(NoteList, found.items, id_key(found.after))

    walk = Walk(operation="listNotes", shape=(str(page_id),))
    return await read_list(call, given, walk, query)


@reads(
    "listPins",
    "/pages/{pageId}/pins",
    "List the pins of a page: there is one of a kind at most",
    parameters=AtRevision,
    answer=PinList,
)
async def list_pins(call: Call, given: AtRevision) -> Answer:
    page_id = page_id_of(call)

    def query(state: State) -> Found:
        items = pins_of_page(state.snapshot, page_id)
        return Found(
            PinList(revision=state.revision, final=state.final, items=items, next_cursor=None)
        )

    return await read(call, given, query)


@reads(
    "listBacklinks",
    "/pages/{pageId}/backlinks",
    "List the links that lead to a page",
    parameters=ListAt,
    answer=BacklinkList,
    is_list=True,
)
async def list_backlinks(call: Call, given: ListAt) -> Answer:
    page_id = page_id_of(call)

    def query(state: State, window: Window) -> Part:
        found = backlinks(state.snapshot, page_id, window.after_pair, window.limit)
        return Part(BacklinkList, found.items, pair_key(found.after))

    walk = Walk(operation="listBacklinks", shape=(str(page_id),), is_long=True)
    return await read_list(call, given, walk, query)


@reads(
    "listHistory",
    "/pages/{pageId}/history",
    "List what happened to a page, through all its moves",
    parameters=HistoryParameters,
    answer=HistoryList,
)
async def list_history(call: Call, given: HistoryParameters) -> Answer:
    page_id = page_id_of(call)

    def query(state: State, window: Window) -> Part:
        found = history(
            state.snapshot,
            page_id,
            window.after_position,
            window.limit,
            newest_first=given.newest_first,
        )
        return Part(HistoryList, found.items, position_key(found.after))

    shape = (str(page_id), given.newest_first)
    walk = Walk(operation="listHistory", shape=shape, is_feed=True, is_long=True)
    return await read_list(call, given, walk, query)


@reads(
    "readDiff",
    "/pages/{pageId}/diff",
    "Compare two versions of a page",
    parameters=DiffParameters,
    answer=DiffRead,
)
async def read_diff(call: Call, given: DiffParameters) -> Answer:
    page_id = page_id_of(call)

    def query(state: State) -> Found:
        view = diff_versions(state.snapshot, page_id, given.from_version, given.to_version)
        return Found(DiffRead(revision=state.revision, final=state.final, diff=view))

    return await read(call, given, query, is_long=True)


OPERATIONS = (
    list_children,
    list_notes,
    list_pins,
    list_backlinks,
    list_history,
    read_diff,
)
