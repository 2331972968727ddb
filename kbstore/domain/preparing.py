"""Preparing texts that hold Markdown: analysed, counted, hashed and compressed before the queue."""

from collections.abc import Iterable

from kbstore.ids import IdSource
from kbstore.text import Analysis, Link, analyse, extract_links
from kbstore.text.terms import terms_of
from kbstore.texts import LinkTarget, PreparedBody, PreparedText, prepare_text


def prepare_body(value: str, ids: IdSource, found: Analysis | None = None) -> PreparedBody:
    """A body (already cleaned) with its lines, tokens, links and terms; `found` is its analysis
    where the caller has it."""
    found = found or analyse(value)
    text = prepare_text(value, ids, _targets(found.links), terms_of(value))
    return PreparedBody(text, found.line_count, found.tokens)


def prepare_note_text(value: str, ids: IdSource) -> PreparedText:
    """The text of a note (already cleaned) with its links and terms."""
    return prepare_text(value, ids, _targets(extract_links(value)), terms_of(value))


def _targets(links: Iterable[Link]) -> tuple[LinkTarget, ...]:
    return tuple(LinkTarget(link.kind, link.target, link.line) for link in links)
