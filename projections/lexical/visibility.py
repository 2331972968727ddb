"""What a reader sees of an index at a revision: the rule of `projections.read.filters`, and of
`projections.read.notes`, over all pages and notes at once.

A page shows where its scope then and its scope now are both readable; one that has ended since
only to owners of the scope it last had. A note shows where its page then shows, and one of its
stamps then; and today, where the page shows that it is on today, and one of its stamps now. Of
a removed note the page has to be in an owned scope.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from kbstore.access import Access
from projections.lexical.documents import NOTE, Flags, Known, Numbers
from projections.rows import decode_scopes

VisibleKey: TypeAlias = tuple[int, int, Access, frozenset[str] | None]
"""The documents up to the revision and up to the head, the reader, and the scopes asked for."""


class Visible(Struct, frozen=True):
    """By subject: the document that is valid at the revision (-1 for none), and whether the
    reader sees the page, or the note."""

    documents: Numbers
    pages: Flags
    notes: Flags


def visible_at(
    known: Known, then: int, now: int, access: Access, scopes: frozenset[str] | None
) -> Visible:
    """What shows of the first `then` documents, of which there are `now` at the head.

    With `scopes` only pages that stand there at the revision, and the notes on them.
    """
    subjects = known.subjects_up_to(now)
    readable = _flags(known.addresses, access.readable.__contains__)
    owned_by = access.readable if access.is_auditor else access.owned
    owned = _flags(known.addresses, owned_by.__contains__)
    asked = readable if scopes is None else readable & _flags(known.addresses, scopes.__contains__)
    stamped = _flags(known.stamps, lambda stamps: any(map(access.can_read, decode_scopes(stamps))))

    # A document of -1 is no document: what is looked up for it is that of another, and does not
    # count. Of those behind the head nothing may be looked up.
    ended, scope_of = known.has_ended[:now], known.scopes[:now]
    stamps_of, page_of = known.stamp_sets[:now], known.pages[:now]
    here, last = known.last_of_each(then, subjects), known.last_of_each(now, subjects)
    is_note = known.kinds[:subjects] == NOTE
    is_live = (here >= 0) & ~ended[here]
    has_ended = ended[last]
    is_owned = owned[scope_of[last]]
    shows_today = np.where(has_ended, is_owned, readable[scope_of[last]])
    pages = ~is_note & is_live & asked[scope_of[here]] & shows_today

    page_then, page_today = page_of[here], page_of[last]
    on_page = np.where(has_ended, is_owned[page_today], shows_today[page_today])
    notes = is_note & is_live & pages[page_then] & stamped[stamps_of[here]]
    notes &= on_page & stamped[stamps_of[last]]
    return Visible(here, pages, notes)


def _flags(values: Sequence[str], holds: Callable[[str], bool]) -> Flags:
    """Whether it holds for each value; there is at least one, for subjects without any."""
    return np.array([holds(value) for value in values] or [False], np.bool_)
