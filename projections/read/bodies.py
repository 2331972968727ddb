"""Texts of pages with what is derived from them, kept by content.

References hold the salted hash of their text, so equal references mean equal texts in every
knowledge base and every database.
"""

import sys
from typing import cast

from kbstore.text.analysis import outline_of
from kbstore.text.frontmatter import FrontMatter, split_front_matter
from kbstore.text.outline import Heading
from projections.caching import LruCache
from projections.rows import decode_body_ref
from projections.snapshot import Snapshot
from projections.views import Json

BODIES_CACHED_BYTES_MAX = 64 * 1024 * 1024
FRONT_MATTERS_CACHED_BYTES_MAX = 16 * 1024 * 1024
OUTLINES_CACHED_BYTES_MAX = 16 * 1024 * 1024
_HEADING_BYTES = 400  # an estimate: its text, its anchor and their overhead
_FRONT_MATTER_FACTOR = 16  # parsed values take several times the room of their text


class Derived:
    """A body's front matter as a page shows it; `weight_bytes` is an estimate."""

    __slots__ = ("error", "values", "weight_bytes")

    def __init__(self, front_matter: FrontMatter, source_bytes: int) -> None:
        self.values = cast(dict[str, Json] | None, front_matter.values)
        self.error = front_matter.error
        self.weight_bytes = 200 + (_FRONT_MATTER_FACTOR * source_bytes if self.values else 0)


_bodies: LruCache[bytes, str] = LruCache(BODIES_CACHED_BYTES_MAX, sys.getsizeof)
_derived: LruCache[bytes, Derived] = LruCache(
    FRONT_MATTERS_CACHED_BYTES_MAX, lambda derived: derived.weight_bytes
)
_outlines: LruCache[bytes, tuple[Heading, ...]] = LruCache(
    OUTLINES_CACHED_BYTES_MAX, lambda outline: _HEADING_BYTES * (1 + len(outline))
)
_NONE = Derived(FrontMatter(), 0)


def body_text(snapshot: Snapshot, body_ref: bytes | None) -> str | None:
    """The body behind a reference as rows hold it; None for a page that only groups."""
    if body_ref is None:
        return None
    body = _bodies.get(body_ref)
    if body is None:
        body = snapshot.texts.text(decode_body_ref(body_ref).text)
        _bodies.put(body_ref, body)
    return body


def front_matter(body_ref: bytes | None, body: str | None) -> Derived:
    """The front matter of a body; `body_ref` is None for a declared body, which is not kept."""
    if body is None or not body.startswith("---\n"):
        return _NONE
    if body_ref is None:
        return _derive(body)
    derived = _derived.get(body_ref)
    if derived is None:
        derived = _derive(body)
        _derived.put(body_ref, derived)
    return derived


def outline(body_ref: bytes | None, body: str) -> tuple[Heading, ...]:
    """The headings of a body; `body_ref` is None for a declared body, which is not kept.

    Takes a millisecond for a KiB of dense Markdown the first time.
    """
    if body_ref is None:
        return outline_of(body)
    found = _outlines.get(body_ref)
    if found is None:
        found = outline_of(body)
        _outlines.put(body_ref, found)
    return found


def forget_texts() -> None:
    """Drops every text kept, as erasing one demands."""
    _bodies.clear()
    _outlines.clear()
    _derived.clear()


def _derive(body: str) -> Derived:
    front = split_front_matter(body)
    lines = body.split("\n", front.end_line)[: front.end_line]
    return Derived(front, sum(map(len, lines)))
