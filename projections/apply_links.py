"""Links: a row for each link of a text, kept as long as that link stays as it is.

A bound link leads to a page's id. When that page is merged away its links lead to the page
that took over, chains of merges collapsed, also where an older text is restored later.
"""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, select, update

from kbstore.domain.events import Links
from kbstore.store.statements import Row, Statement, Value
from kbstore.texts import decode_targets
from projections.intervals import began_now, end_rows, is_current, of_kb, open_row
from projections.link_targets import fold_target
from projections.rows import bytes_or_none
from projections.step import Step
from projections.tables import links as table
from projections.tables import pages

_OF_PAGE = table.c.source_page == bindparam("source_page")
_OF_TEXT = (_OF_PAGE, table.c.source_id == bindparam("source_id"))
_ONE = (
    table.c.source_id == bindparam("source_id"),
    table.c.ordinal == bindparam("ordinal"),
    table.c.from_revision == bindparam("began"),
)
_OPEN = Statement(open_row(table))
_END_ONE = Statement(end_rows(table, *_ONE))
_FORGET_ONE = Statement(delete(table).where(of_kb(table), *_ONE))
_END_OF_TEXT = Statement(end_rows(table, *_OF_TEXT))
_FORGET_OF_TEXT = Statement(
    delete(table).where(of_kb(table), *_OF_TEXT, is_current(table), began_now(table))
)
_END_OF_PAGE = Statement(end_rows(table, _OF_PAGE))
_FORGET_OF_PAGE = Statement(
    delete(table).where(of_kb(table), _OF_PAGE, is_current(table), began_now(table))
)
_CURRENT = Statement(
    select(
        table.c.ordinal,
        table.c.kind,
        table.c.target,
        table.c.target_page,
        table.c.target_fold,
        table.c.line,
        table.c.from_revision,
    ).where(of_kb(table), *_OF_TEXT, is_current(table))
)
_MERGED = Statement(
    select(pages.c.page_id, pages.c.merged_into).where(
        of_kb(pages),
        pages.c.page_id.in_(bindparam("page_ids", expanding=True)),
        pages.c.merged_into.is_not(None),
    )
)

_TO_PAGE = (table.c.target_page == bindparam("page"), is_current(table))
_LEAD_NEW = Statement(
    update(table)
    .where(of_kb(table), *_TO_PAGE, began_now(table))
    .values(target_page=bindparam("into"))
)
_LED = {
    name: bindparam(value, type_=table.c[name].type)
    for name, value in (("from_revision", "revision"), ("target_page", "into"))
}
_REOPEN = Statement(
    insert(table).from_select(
        [column.name for column in table.c],
        select(*(_LED.get(column.name, column) for column in table.c)).where(
            of_kb(table), *_TO_PAGE
        ),
    )
)
_END_LED = Statement(end_rows(table, table.c.target_page == bindparam("page")))


class LinkSource(Struct, frozen=True):
    """Whose text links stand in: a page's, or that of a note on it."""

    page_id: UUID
    note_id: UUID | None = None

    @property
    def text_key(self) -> dict[str, Value]:
        return {
            "source_page": self.page_id.bytes,
            "source_id": (self.note_id or self.page_id).bytes,
        }


class _Link(Struct, frozen=True):
    """What a row says of a link; `bytes` name pages."""

    ordinal: int
    kind: str
    target: str
    target_page: bytes | None
    target_fold: str | None
    line: int

    def values(self, source: LinkSource) -> dict[str, Value]:
        return {
            **source.text_key,
            "source_note": bytes_or_none(source.note_id),
            "ordinal": self.ordinal,
            "kind": self.kind,
            "target": self.target,
            "target_page": self.target_page,
            "target_fold": self.target_fold,
            "line": self.line,
        }


def add_links(step: Step, source: LinkSource, links: Links | None) -> None:
    """The links of a text that has no current rows."""
    if links is not None:
        _open(step, source, _links(step, links, settled=frozenset()))


def change_links(step: Step, source: LinkSource, links: Links | None) -> None:
    """Makes the current rows of a text those of `links`; a row that fits stays."""
    had: dict[_Link, int] = {}
    for row in step.all(_CURRENT, source.text_key):
        had[_link(row)] = cast(int, row[6])
    settled = frozenset(link.target_page for link in had)
    has = dict.fromkeys(() if links is None else _links(step, links, settled))
    _close(step, source, [(link.ordinal, began) for link, began in had.items() if link not in has])
    _open(step, source, [link for link in has if link not in had])


def end_links(step: Step, source: LinkSource) -> None:
    """Ends the rows of one text."""
    step.run(_FORGET_OF_TEXT, source.text_key)
    step.run(_END_OF_TEXT, source.text_key)


def end_links_from_page(step: Step, page_id: UUID) -> None:
    """Ends the rows of a page's text and of its notes'."""
    step.run(_FORGET_OF_PAGE, {"source_page": page_id.bytes})
    step.run(_END_OF_PAGE, {"source_page": page_id.bytes})


def lead_links_on(step: Step, page_id: UUID, into: UUID) -> None:
    """Makes every link that leads to one page lead to another."""
    values = {"page": page_id.bytes, "into": into.bytes}
    # The row of an earlier event of this commit was never seen: it changes in place.
    step.run(_LEAD_NEW, values)
    step.run(_REOPEN, values)
    step.run(_END_LED, values)


def _links(step: Step, links: Links, settled: frozenset[bytes | None]) -> tuple[_Link, ...]:
    bound = {index: page_id.bytes for index, page_id in links.bound}
    merged = _merged(step, set(bound.values()) - settled)
    found = []
    for ordinal, link in enumerate(decode_targets(step.texts.text(links.targets))):
        page = bound.get(ordinal)
        page = merged.get(page, page) if page else None
        target_fold = None if page else fold_target(link.kind, link.target)
        found.append(_Link(ordinal, link.kind, link.target, page, target_fold, link.line))
    return tuple(found)


def _merged(step: Step, page_ids: set[bytes]) -> dict[bytes, bytes]:
    """Where those of the pages that were merged away are found now."""
    if not page_ids:
        return {}
    rows = step.all(_MERGED, {"page_ids": sorted(page_ids)})
    return {cast(bytes, page): cast(bytes, into) for page, into in rows}


def _link(row: Row) -> _Link:
    ordinal, kind, target, page, target_fold, line = cast(
        tuple[int, str, str, bytes | None, str | None, int], row[:6]
    )
    return _Link(ordinal, kind, target, page, target_fold, line)


def _open(step: Step, source: LinkSource, links: Iterable[_Link]) -> None:
    step.run_many(_OPEN, [link.values(source) for link in links])


def _close(step: Step, source: LinkSource, gone: list[tuple[int, int]]) -> None:
    """Ends rows given by ordinal and first revision; one of this very commit leaves no trace."""
    keys = [{**source.text_key, "ordinal": ordinal, "began": began} for ordinal, began in gone]
    step.run_many(_FORGET_ONE, [key for key in keys if key["began"] == step.revision])
    step.run_many(_END_ONE, [key for key in keys if key["began"] != step.revision])
