"""Copying knowledge bases to another database, and proving that they are the same there."""

from contextlib import closing
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from kbstore.errors import StoreError, VerificationError
from kbstore.store.catalogue import KnowledgeBase, find_knowledge_base
from kbstore.store.commits import GENESIS_DIGEST, Head
from kbstore.store.connection import Connection
from kbstore.store.copies import CopyMark, find_copy, forget_copy
from kbstore.store.copying import LogCopier, check_is_free
from kbstore.store.database import Database
from kbstore.store.heads import committed_digest, read_head
from kbstore.store.projecting import InlineProjections
from projections.checksum import table_checksums
from projections.content_checksum import content_checksum
from projections.generation_deleting import delete_other_generations
from projections.generation_filling import Filler
from projections.generation_progress import Filled, begin_filling, find_filled, forget_filled
from projections.pace import pace_of
from projections.progress import Progress, no_progress
from projections.verify_log import LogCheck
from projections.verify_report import Failures

_GENERATION = 1


class Copied(Struct, frozen=True, kw_only=True):
    """A knowledge base that is on both sides, as it was at `revision`: `digest` proves its log,
    and both sides have these checksums (those of `kbstore verify`).

    `resumed_from` is the revision up to which a killed run had copied it, None where this one
    began.
    """

    kb_id: UUID
    slug: str
    revision: int
    digest: bytes
    checksum: str
    content_checksum: str
    resumed_from: int | None


class _Pinned(Struct, frozen=True):
    """The state of the source that is copied: all of it read in one snapshot."""

    head: Head
    checksum: str
    content_checksum: str


def copy_knowledge_base(
    source: Database,
    target: Database,
    found: KnowledgeBase,
    projections: InlineProjections,
    progress: Progress = no_progress,
) -> Copied:
    """Copies a knowledge base as it is now; what is written meanwhile is not copied.

    Its log, the claims of its requests, its keys; the projections are filled on the other side
    from the log there. It comes into the catalogue there, all at once, when the digests and
    checksums of both sides are the same. A copy that was killed is gone on with; one that does
    not fit what is copied is deleted and begun anew.

    Raises StoreError where the other side holds it already, SlugTakenError where another one
    has its slug there, DatabaseInUseError while another process copies it, and
    VerificationError where the two sides differ in the end: then nothing is left there.
    `progress` hears of revisions, first of those copied and then of those projected.
    """
    with (
        target.alone("copying", found.kb_id),
        closing(source.connect_reader()) as here,
        target.connected() as there,
        closing(target.connect_reader()) as there_too,
    ):
        mark = find_copy(there, found.kb_id)
        if mark is not None and mark.checksum is not None:
            return _earlier(there, found, mark)
        check_is_free(there, found.kb_id, found.slug)
        copy = _Copy(here, there, there_too, target, projections, found)
        return copy.run(mark, progress)


def end_copying(target: Database, copied: list[Copied]) -> None:
    """Forgets that these were copied in one run: another one finds them there and refuses."""
    with target.connected() as connection, connection.writing():
        for each in copied:
            forget_copy(connection, each.kb_id)


class _Copy:
    def __init__(
        self,
        here: Connection,
        there: Connection,
        there_too: Connection,
        target: Database,
        projections: InlineProjections,
        found: KnowledgeBase,
    ) -> None:
        self._here = here
        self._there = there
        self._there_too = there_too
        self._found = found
        self._kb_id = found.kb_id
        self._pace = pace_of(target)
        self._log = LogCopier(here, there, found.kb_id)
        self._filler = Filler(there_too, there, projections, found.kb_id)

    def run(self, mark: CopyMark | None, progress: Progress) -> Copied:
        pinned = self._pin()
        head = pinned.head
        if mark is not None and not self._log.continues(mark):
            self._discard()
            mark = None
        resumed_from = None if mark is None else mark.revision
        if mark is None:
            mark = self._log.begin()
        for reached in self._log.copy_log(mark, head):
            mark = reached
            progress(mark.revision, head.revision)
            self._pace.pause()
        for _ in self._log.copy_claims(mark):
            self._pace.pause()
        self._prove(self._log_failures(head))
        self._filler.fill(self._begin_filling(), head.revision, self._pace, progress)
        self._prove(self._row_failures(pinned))
        proved = replace(mark, checksum=pinned.checksum, content_checksum=pinned.content_checksum)
        with self._there.writing():
            self._log.enter(proved, head)
            forget_filled(self._there, self._kb_id)
        return _copied(self._found, proved, head.digest, resumed_from)

    def _pin(self) -> _Pinned:
        here = self._here
        with here.reading():
            head = read_head(here, self._kb_id)
            assert head is not None, "a registered knowledge base has a head"
            return _Pinned(
                replace(head, generation=_GENERATION),
                table_checksums(here, self._kb_id, head.generation).checksum,
                content_checksum(here, self._kb_id, head.generation),
            )

    def _begin_filling(self) -> Filled:
        filled = find_filled(self._there, self._kb_id)
        if filled is not None and filled.is_of_this_program:
            return filled
        self._unfill()
        return begin_filling(self._there, self._kb_id, _GENERATION)

    def _unfill(self) -> None:
        with self._there.writing():
            forget_filled(self._there, self._kb_id)
        delete_other_generations(self._there, self._kb_id, 0, self._pace)

    def _discard(self) -> None:
        self._unfill()
        self._log.discard()

    def _prove(self, failures: list[str]) -> None:
        """Deletes the copy and raises VerificationError when anything failed."""
        if failures:
            self._discard()
            raise VerificationError(
                f"The copy of {self._found.slug} is not what was copied, and was deleted: "
                f"{failures[0]}. `kbstore verify` tells what is wrong with this side.",
                failures=failures,
            )

    def _log_failures(self, head: Head) -> list[str]:
        """What of the log is not as the head proves it; by the chain each commit has the digest
        that it has here."""
        failures = Failures()
        with self._there_too.reading():
            for _ in LogCheck(self._there_too, head, failures, no_progress).walk():
                pass
        return [f"{failure.what} ({failure.where})" for failure in failures.kept]

    def _row_failures(self, pinned: _Pinned) -> list[str]:
        found = []
        there = self._there_too
        with there.reading():
            checksum = table_checksums(there, self._kb_id, _GENERATION).checksum
            if checksum != pinned.checksum:
                found.append(f"checksum {pinned.checksum} here, {checksum} there")
            content = content_checksum(there, self._kb_id, _GENERATION)
            if content != pinned.content_checksum:
                found.append(f"contentChecksum {pinned.content_checksum} here, {content} there")
        return found


def _earlier(there: Connection, found: KnowledgeBase, mark: CopyMark) -> Copied:
    """What a run that was killed after it had copied this knowledge base came to."""
    digest = (
        committed_digest(there, found.kb_id, mark.revision) if mark.revision else GENESIS_DIGEST
    )
    if digest is None or find_knowledge_base(there, str(found.kb_id)) is None:
        raise StoreError(f"The copy of {found.slug} was whole and is not there any more.")
    return _copied(found, mark, digest, mark.revision)


def _copied(
    found: KnowledgeBase, mark: CopyMark, digest: bytes, resumed_from: int | None
) -> Copied:
    assert mark.checksum is not None
    assert mark.content_checksum is not None
    return Copied(
        kb_id=found.kb_id,
        slug=found.slug,
        revision=mark.revision,
        digest=digest,
        checksum=mark.checksum,
        content_checksum=mark.content_checksum,
        resumed_from=resumed_from,
    )
