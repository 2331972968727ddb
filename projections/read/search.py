"""Search: the pages and notes that contain words of a query, the best ones first.

First come the pages whose name contains the whole query, then the other pages, then notes.
Pages are ordered by how many distinct words they contain, then by how many their name, their
description and their body do, then by when they were updated, the newest first, then by id.
Notes are ordered by how many words they contain, then by when they were created, then by id: a
change of stamps the reader does not see moves no note.

A word is contained in a text where it is part of a run of the folded text without white space.
Access and scopes filter before anything is ranked or counted.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias
from uuid import UUID

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kbstore.access import TemplateTree
from kbstore.domain.declared import DeclaredPage, KeyPath
from kbstore.errors import ValidationError
from kbstore.ids import id_from_bytes
from kbstore.limits import SEARCH_SECONDS_MAX, SEARCH_WORDS_MAX
from kbstore.text.fold import fold
from kbstore.text.terms import SearchQuery, phrase_of, read_query
from projections.lexical.documents import SCOPE_PAGE
from projections.lexical.evaluating import (
    IN_NAME_SHIFT,
    WHOLE_SHIFT,
    Labels,
    Scores,
    score,
    scores_of,
)
from projections.lexical.index import Deadline, View
from projections.lexical.kept import view_of
from projections.lexical.ranking import Ranked, first_of
from projections.lexical.visibility import Visible, visible_at
from projections.read.declared import declaration, is_there, listed_addresses, way_down
from projections.read.pages import labels
from projections.read.rows import PageRow, row_of
from projections.read.standing import Standing
from projections.snapshot import Snapshot

_TEXTS_CACHED_MAX = 4_096
_TREES_CACHED_MAX = 256


class PageHit(Struct, frozen=True):
    """A page that contains words of the query."""

    page: Standing


class NoteHit(Struct, frozen=True):
    """A note that does: its id, and the page it stands on at the revision."""

    note_id: UUID
    page: PageRow


Hit: TypeAlias = PageHit | NoteHit


class Found(Struct, frozen=True):
    """The first hits in order, and how many there are in all."""

    hits: tuple[Hit, ...]
    total: int


def search(snapshot: Snapshot, query: str, scopes: frozenset[str] | None, limit: int) -> Found:
    """The pages and notes of the snapshot that contain at least one word of the query.

    `scopes` are addresses: only pages that stand there, and the notes on them, are searched. An
    unlisted scope is searched where it is named. A query without words finds nothing. Takes
    milliseconds, but seconds where an index has to be built first or a word is in nearly every
    term: not for an event loop. Raises ValidationError for more than SEARCH_WORDS_MAX distinct
    words, SearchTimeoutError after SEARCH_SECONDS_MAX.
    """
    asked = read_query(query)
    if len(asked.words) > SEARCH_WORDS_MAX:
        raise ValidationError(
            f"A query has at most {SEARCH_WORDS_MAX} different words.",
            field="query",
            reason="tooMany",
            limit=SEARCH_WORDS_MAX,
        )
    if not asked.words:
        return Found((), 0)
    return _Search(snapshot, asked, scopes, Deadline(SEARCH_SECONDS_MAX)).run(limit)


class _Search:
    def __init__(
        self,
        snapshot: Snapshot,
        asked: SearchQuery,
        scopes: frozenset[str] | None,
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._asked = asked
        self._scopes = scopes
        self._deadline = deadline
        self._view = view_of(snapshot.connection, snapshot.head, deadline)

    def run(self, limit: int) -> Found:
        known = self._view.documents
        then = known.up_to(self._snapshot.revision)
        visible = self._visible(then, known.up_to(self._snapshot.head.revision))
        subjects = known.subjects_up_to(then)
        tops = _labels(self._snapshot, self._view, visible)
        scores = scores_of(self._view, then, self._asked.words, tops, self._deadline)
        # Who has no document yet at the revision has the last numbers, and does not show.
        is_found = scores > 0
        pages = np.flatnonzero(visible.pages[:subjects] & is_found)
        notes = np.flatnonzero(visible.notes[:subjects] & is_found)
        self._mark_whole(scores, pages, visible, tops)

        best = self._first(pages, scores, visible, limit)
        hits: list[tuple[Ranked, Standing | int]] = [*best]
        virtual = list(self._virtual())
        hits += virtual
        hits = sorted(hits, key=lambda hit: hit[0])[:limit]
        found: list[Hit] = [PageHit(self._standing(hit)) for _, hit in hits]
        for _, subject in self._first(notes, scores, visible, limit - len(found)):
            found.append(self._note(subject, visible))
        return Found(tuple(found), len(pages) + len(virtual) + len(notes))

    def _visible(self, then: int, now: int) -> Visible:
        access = self._snapshot.access
        key = (then, now, access, self._scopes)
        visible = self._view.visible.get(key)
        if visible is None:
            visible = visible_at(self._view.documents, then, now, access, self._scopes)
            self._view.visible.put(key, visible)
        return visible

    def _first(
        self, subjects: NDArray[np.intp], scores: Scores, visible: Visible, limit: int
    ) -> list[tuple[Ranked, int]]:
        known = self._view.documents
        times = known.times[visible.documents[subjects]]
        return first_of(subjects, scores[subjects], times, known.ids, limit)

    def _mark_whole(
        self, scores: Scores, pages: NDArray[np.intp], visible: Visible, tops: Labels
    ) -> None:
        """Marks the pages whose name contains the whole query; it has to have every word."""
        names = self._view.documents.names
        in_name = (scores[pages] >> IN_NAME_SHIFT) & 0xFF
        asked = self._asked.phrase
        of_tops = dict(zip(tops.subjects.tolist(), tops.names, strict=True))
        for subject in pages[in_name == len(self._asked.words)].tolist():
            name = names[visible.documents[subject]]
            # Folding twice is folding once.
            phrase = _phrase(of_tops[subject]) if name is None else name
            if asked in phrase:
                scores[subject] |= 1 << WHOLE_SHIFT

    def _standing(self, hit: Standing | int) -> Standing:
        if not isinstance(hit, int):
            return hit
        return self._page(hit)

    def _page(self, subject: int) -> PageRow:
        row = row_of(self._snapshot, id_from_bytes(self._view.documents.ids[subject]))
        assert row is not None, "what shows lives at the revision"
        return row

    def _note(self, subject: int, visible: Visible) -> NoteHit:
        known = self._view.documents
        page = int(known.pages[visible.documents[subject]])
        return NoteHit(id_from_bytes(known.ids[subject]), self._page(page))

    # --- pages that are only declared ------------------------------------------------------------

    def _virtual(self) -> Iterator[tuple[Ranked, Standing]]:
        """The virtual pages that contain a word, with what they are ranked by."""
        snapshot = self._snapshot
        for address in self._addresses():
            declared = declaration(snapshot, address)
            if declared is None:
                continue
            self._deadline.check()
            own = (declared.name, declared.description, "")
            places: list[tuple[KeyPath, _Texts]] = [((), own)]
            places += _templates(declared.templates)
            for path, texts in places:
                found = self._score(texts)
                if not found:
                    continue
                way = way_down(snapshot, address, path)
                if way is not None and isinstance(way[-1], DeclaredPage):
                    # Older than whatever was written: when the configuration last changed,
                    # perhaps in parts that the reader does not see, moves nothing.
                    ranked = (-found, 0, way[-1].page_id.bytes)
                    yield ranked, way[-1]

    def _addresses(self) -> list[str]:
        if self._scopes is None:
            return listed_addresses(self._snapshot)
        return [address for address in self._scopes if is_there(self._snapshot, address)]

    def _score(self, texts: "_Texts") -> int:
        name, description, body = map(_folded, texts)
        words = self._asked.words
        found = score(
            words=sum(word in name or word in description or word in body for word in words),
            in_name=sum(word in name for word in words),
            in_description=sum(word in description for word in words),
            in_body=sum(word in body for word in words),
        )
        is_whole = self._asked.phrase in _phrase(texts[0])
        return found | is_whole << WHOLE_SHIFT


_Texts: TypeAlias = tuple[str, str, str]
"""Name, description and body."""


def _labels(snapshot: Snapshot, view: View, visible: Visible) -> Labels:
    """Names and descriptions of the scope pages in sight, as configured at the revision."""
    known = view.documents
    subjects = np.flatnonzero(visible.pages & (known.kinds[: len(visible.pages)] == SCOPE_PAGE))
    names, descriptions = [], []
    for subject in subjects.tolist():
        scope = known.addresses[known.scopes[visible.documents[subject]]]
        declared = declaration(snapshot, scope)
        if declared is not None:
            name, description = declared.name, declared.description
        else:
            row = row_of(snapshot, id_from_bytes(known.ids[subject]))
            assert row is not None, "what shows lives at the revision"
            name, given = labels(snapshot, row)
            description = given or ""
        names.append(_folded(name))
        descriptions.append(_folded(description))
    return Labels(subjects, names, descriptions)


@lru_cache(maxsize=_TREES_CACHED_MAX)
def _templates(tree: TemplateTree) -> tuple[tuple[KeyPath, _Texts], ...]:
    return tuple((page.path, (page.name, page.description, page.body or "")) for page in tree.pages)


_folded = lru_cache(maxsize=_TEXTS_CACHED_MAX)(fold)
_phrase = lru_cache(maxsize=_TEXTS_CACHED_MAX)(phrase_of)
