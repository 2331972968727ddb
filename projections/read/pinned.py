"""The pinned context of a run: what is pinned for the scopes it holds, within a budget.

What the configuration pins comes first, in the order it is declared, and is shortened to fit,
never dropped. Then come the pins of agents, oldest first; one that does not fit is named. Only
what the run can read is there, of listings too.
"""

from collections.abc import Sequence
from itertools import islice
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from kbstore.limits import PINNED_LISTING_PAGES_MAX, PINNED_PAGES_MAX
from kbstore.text import estimate_tokens
from kbstore.text.windows import cut
from projections.read.bodies import body_text
from projections.read.pages import labels
from projections.read.pins import configured_pins, pins_delivered
from projections.read.rows import PageRow
from projections.read.standing import Standing, place_of
from projections.read.tree import Tree
from projections.snapshot import Snapshot
from projections.views import PinView, View

CUT = "…"
_ITEM_TOKENS = 4  # what parts an item from the next


class ListedPage(View, frozen=True, kw_only=True):
    """A page in a pinned listing; `depth` is 1 directly below the pinned page."""

    ref: str
    name: str
    depth: int


class PinnedItem(View, frozen=True, kw_only=True):
    """A pinned page, or the pages under it. `source` is `config` or `agent`; `shortened` says
    that not all of it is here: read the page, or list it, by its ref."""

    ref: str
    name: str
    kind: str
    source: str
    body: str | UnsetType = UNSET
    pages: tuple[ListedPage, ...] | UnsetType = UNSET
    shortened: bool = False


class LeftOut(View, frozen=True, kw_only=True):
    """A pin that found no room."""

    ref: str
    name: str
    kind: str


class PinnedContext(View, frozen=True, kw_only=True):
    """`tokens` is the estimate of what the items say."""

    items: tuple[PinnedItem, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int


class _Pin(Struct, frozen=True):
    view: PinView
    page: Standing
    name: str
    source: str


def pinned_context(snapshot: Snapshot) -> PinnedContext:
    """What is pinned for the scopes that the caller holds."""
    settings = snapshot.configuration_now.settings
    fixed = _configured(snapshot)
    room = settings.pinned_tokens
    items: list[PinnedItem] = []
    for index, pin in enumerate(fixed):
        item = _shortened(snapshot, pin, room // (len(fixed) - index))
        items.append(item)
        room = max(0, room - _tokens(item))
    left_out: list[LeftOut] = []
    for pin in _of_agents(snapshot, {(pin.page.page_id, pin.view.kind) for pin in fixed}):
        item = _whole(snapshot, pin)
        tokens = _tokens(item)
        if len(items) >= settings.pinned_pages or tokens > room:
            left_out.append(LeftOut(ref=pin.view.ref, name=pin.name, kind=pin.view.kind))
            continue
        items.append(item)
        room -= tokens
    return PinnedContext(
        items=tuple(items), left_out=tuple(left_out), tokens=sum(map(_tokens, items))
    )


def _configured(snapshot: Snapshot) -> list[_Pin]:
    return [
        _Pin(view, page, labels(snapshot, page)[0], "config")
        for scope in sorted(snapshot.access.caller.held)
        for view, page in configured_pins(snapshot, scope)
    ]


def _of_agents(snapshot: Snapshot, known: set[tuple[UUID, str]]) -> list[_Pin]:
    """The pins of agents, but those that the configuration has as well."""
    found = pins_delivered(snapshot, snapshot.access.caller.held, PINNED_PAGES_MAX)
    return [
        _Pin(view, page, labels(snapshot, page)[0], "agent")
        for view, page in found
        if (page.page_id, view.kind) not in known
    ]


def _whole(snapshot: Snapshot, pin: _Pin) -> PinnedItem:
    if pin.view.kind == "list":
        pages, is_cut = _listing(snapshot, pin)
        return _item(pin, pages=pages, shortened=is_cut)
    return _item(pin, body=_body(snapshot, pin.page))


def _shortened(snapshot: Snapshot, pin: _Pin, share: int) -> PinnedItem:
    """A pin that the configuration has, as far as its share of the tokens goes."""
    item = _whole(snapshot, pin)
    if _tokens(item) <= share:
        return item
    head = _tokens(_item(pin))
    left = max(0, share - head)
    if isinstance(item.body, str):
        return _item(pin, body=cut(item.body, max(0, left - 1)) + CUT, shortened=True)
    assert isinstance(item.pages, tuple)
    return _item(pin, pages=_first(item.pages, left), shortened=True)


def _first(pages: Sequence[ListedPage], tokens: int) -> tuple[ListedPage, ...]:
    kept: list[ListedPage] = []
    for page in pages:
        tokens -= _page_tokens(page)
        if tokens < 0:
            break
        kept.append(page)
    return tuple(kept)


def _listing(snapshot: Snapshot, pin: _Pin) -> tuple[tuple[ListedPage, ...], bool]:
    found = Tree(snapshot).walk(pin.page, pin.view.depth, None)
    entries = list(islice(found, PINNED_LISTING_PAGES_MAX + 1))
    pages = tuple(
        ListedPage(
            ref=place_of(snapshot, entry.page).ref,
            name=labels(snapshot, entry.page)[0],
            depth=entry.depth,
        )
        for entry in entries[:PINNED_LISTING_PAGES_MAX]
    )
    return pages, len(entries) > PINNED_LISTING_PAGES_MAX


def _body(snapshot: Snapshot, page: Standing) -> str:
    """The text of a pinned page; the description of one that only groups others."""
    if isinstance(page, PageRow):
        body = body_text(snapshot, page.body_ref)
    else:
        body = page.body
    return body or labels(snapshot, page)[1] or ""


def _item(
    pin: _Pin,
    *,
    body: str | UnsetType = UNSET,
    pages: tuple[ListedPage, ...] | UnsetType = UNSET,
    shortened: bool = False,
) -> PinnedItem:
    return PinnedItem(
        ref=pin.view.ref,
        name=pin.name,
        kind=pin.view.kind,
        source=pin.source,
        body=body,
        pages=pages,
        shortened=shortened,
    )


def _tokens(item: PinnedItem) -> int:
    tokens = _ITEM_TOKENS + estimate_tokens(item.ref) + estimate_tokens(item.name)
    if isinstance(item.body, str):
        tokens += estimate_tokens(item.body)
    if isinstance(item.pages, tuple):
        tokens += sum(map(_page_tokens, item.pages))
    return tokens


def _page_tokens(page: ListedPage) -> int:
    return estimate_tokens(f"- {page.name} ({page.ref})\n") + page.depth
