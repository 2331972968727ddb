"""What deciding may ask of the state.

`projections` answers these questions over the open write transaction, so an answer already
holds what earlier commands of the same batch decided; `kbstore.testing` answers from memory.
Every list is bounded by its `limit`; "live" leaves out deleted and merged pages.
"""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from kbstore.domain.events import TextRef
from kbstore.domain.state import NoteState, PageState, PinState


class Lookup(Protocol):
    def page(self, page_id: UUID) -> PageState | None:
        """The page's newest state, live or gone; None when it was never written."""
        ...

    def scope_page(self, scope: str) -> PageState | None:
        """The written page at the top of a scope."""
        ...

    def child_by_key(self, parent_id: UUID, key: str) -> PageState | None:
        """The live child with this key, compared NFC and case-folded."""
        ...

    def children(self, parent_id: UUID, limit: int) -> list[PageState]:
        """Live children, oldest first."""
        ...

    def ancestors(self, page_id: UUID) -> list[PageState]:
        """From the page's parent up to its scope page; empty for a scope page."""
        ...

    def subtree(self, page_id: UUID, limit: int) -> list[PageState]:
        """The live page and all below it, parents first; at most `limit` of them."""
        ...

    def subtree_levels(self, page_id: UUID) -> int:
        """How many levels the page and what is below it take: 1 without children."""
        ...

    def pages_named(self, name: str, scopes: Collection[str], limit: int) -> list[PageState]:
        """Live pages with exactly this name in one of these scopes, by id."""
        ...

    def page_at_version(self, page_id: UUID, version: int) -> PageState | None:
        """The page as it was when it had this version, last if it stood in several scopes."""
        ...

    def scopes_of_version(self, page_id: UUID, version: int) -> frozenset[str]:
        """The scopes the page stood in with this version; none for one that ended the page."""
        ...

    def page_at_revision(self, page_id: UUID, revision: int) -> PageState | None:
        """The page as it was at this revision; None when it did not live then."""
        ...

    def ended_at(self, page_id: UUID) -> int | None:
        """The revision that deleted or merged away the page; None while it lives."""
        ...

    def deleted_by(self, revision: int, limit: int) -> list[PageState]:
        """The pages the commit of this revision deleted, as they are now, parents first."""
        ...

    def declared_pages_gone(self, scope: str, path: tuple[str, ...]) -> int:
        """How many pages written from this declaration no longer stand at it."""
        ...

    def note(self, note_id: UUID) -> NoteState | None:
        """The note's newest state, also when removed."""
        ...

    def notes(self, page_id: UUID, limit: int) -> list[NoteState]:
        """The notes of a page that were not removed, oldest first."""
        ...

    def pin(self, pin_id: UUID) -> PinState | None:
        """The pin's newest state; its audience is empty when it was removed."""
        ...

    def same_text(self, ref: TextRef, value: str) -> bool:
        """Whether the text behind `ref` is `value`; an erased text equals nothing."""
        ...

    def text(self, ref: TextRef) -> str:
        """The text behind `ref`; empty when it was erased."""
        ...

    def scope_addresses(self) -> frozenset[str]:
        """Every scope that ever had a written page."""
        ...
