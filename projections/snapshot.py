"""One state of one knowledge base as one caller may see it: what every query starts from.

A snapshot is opened inside one read transaction and used up inside it. Nothing of it is kept
but what `projections.reach` keeps.
"""

from bisect import bisect_right
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, cast
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import and_, bindparam, func, select

from kbstore.access import Access, Caller, Configuration
from kbstore.errors import NotFoundError, RevisionNotReachedError, RevisionNotRetainedError
from kbstore.store.commits import Head
from kbstore.store.connection import Queryable
from kbstore.store.heads import read_head
from kbstore.store.statements import Row, Statement, Value
from kbstore.store.tables import commits, heads
from kbstore.store.texts import TextReader
from kbstore.surroundings import access_of
from projections.reach import (
    Parameters,
    configuration_of,
    configured,
    filter_parameters,
    scopes_written,
)
from projections.tables import configurations, scopes

if TYPE_CHECKING:
    from projections.read.rows import PageRow
    from projections.read.standing import Place

__all__ = [
    "RETAINED_FROM",
    "Parameters",
    "RevisionAt",
    "Snapshot",
    "open_snapshot",
    "revision_at",
]

RETAINED_FROM = 1
"""The oldest revision that can be read: nothing is ever dropped."""


class RevisionAt(Struct, frozen=True, kw_only=True):
    """The revision a time names; `final` once no later commit can fall to that time."""

    revision: int
    committed_at: int
    final: bool


class Snapshot(Struct, frozen=True, kw_only=True, dict=True):
    """A revision under a caller's access, over one connection in one read transaction.

    `access` is today's, from `configuration_now`; `configuration` is the one in force at
    `revision`, made by the commit `configured_at` (0 when there was none).
    """

    connection: Queryable
    kb_id: UUID
    head: Head
    revision: int
    access: Access
    scopes_written: frozenset[str]
    configuration_now: Configuration
    configuration: Configuration
    configured_at: int
    texts: TextReader

    @property
    def generation(self) -> int:
        return self.head.generation

    @property
    def is_head(self) -> bool:
        return self.revision == self.head.revision

    def values(self, **more: Value | Collection[Value]) -> Parameters:
        """The parameters `kb_id`, `generation` and `revision`, with more."""
        return {
            "kb_id": self.kb_id.bytes,
            "generation": self.head.generation,
            "revision": self.revision,
            **more,
        }

    def one(self, statement: Statement, **more: Value | Collection[Value]) -> Row | None:
        return self.connection.one(statement, self.values(**more))

    def all(self, statement: Statement, **more: Value | Collection[Value]) -> list[Row]:
        return self.connection.all(statement, self.values(**more))

    def at(self, revision: int) -> "Snapshot":
        """The same caller's view of an earlier revision, for telling how something was then.

        Names of scope pages go on showing as configured at this snapshot's revision. Raises
        RevisionNotReachedError above it, RevisionNotRetainedError below RETAINED_FROM.
        """
        _check_revision(revision, self.revision)
        if revision == self.revision:
            return self
        earlier = self.earlier
        if revision not in earlier:
            earlier[revision] = replace(self, revision=revision)
        return earlier[revision]

    @cached_property
    def earlier(self) -> "dict[int, Snapshot]":
        """Views of earlier revisions that were asked for before."""
        return {}

    @cached_property
    def filters(self) -> Parameters:
        """The parameters of `projections.read.filters`."""
        return filter_parameters(self.access, self.scopes_written)

    @cached_property
    def rows_read(self) -> "dict[UUID, PageRow | None]":
        """Pages read before: the rows of a list share their ancestors."""
        return {}

    @cached_property
    def places(self) -> "dict[UUID, Place]":
        """Where the pages read before stand."""
        return {}

    @cached_property
    def configured_time(self) -> int:
        """When the configuration in force was committed: the time of every virtual page."""
        row = self.connection.one(
            _COMMITTED_AT, {"kb_id": self.kb_id.bytes, "revision": self.configured_at}
        )
        return cast(int, row[0]) if row else 0


_LAST_NEW_SCOPE = (
    select(func.max(scopes.c.since))
    .where(scopes.c.kb_id == heads.c.kb_id, scopes.c.generation == heads.c.generation)
    .correlate(heads)
    .scalar_subquery()
)
_HEAD = Statement(
    select(
        heads.c.revision,
        heads.c.position,
        heads.c.committed_at,
        heads.c.digest,
        heads.c.generation,
        heads.c.configured_at,
        configurations.c.text_ref,
        commits.c.digest.label("scopes_digest"),
    )
    .select_from(heads)
    .outerjoin(
        configurations,
        and_(
            configurations.c.kb_id == heads.c.kb_id,
            configurations.c.generation == heads.c.generation,
            configurations.c.from_revision == heads.c.configured_at,
        ),
    )
    .outerjoin(
        commits,
        and_(commits.c.kb_id == heads.c.kb_id, commits.c.revision == _LAST_NEW_SCOPE),
    )
    .where(heads.c.kb_id == bindparam("kb_id"))
)
_COMMITTED_AT = Statement(
    select(commits.c.committed_at).where(
        commits.c.kb_id == bindparam("kb_id"), commits.c.revision == bindparam("revision")
    )
)


def open_snapshot(
    connection: Queryable, kb_id: UUID, caller: Caller, revision: int | None = None
) -> Snapshot:
    """The state at a revision, the head by default; the caller holds a read transaction open.

    Raises NotFoundError without such a knowledge base, RevisionNotReachedError above the head
    and RevisionNotRetainedError below RETAINED_FROM.
    """
    row = connection.one(_HEAD, {"kb_id": kb_id.bytes})
    if row is None:
        raise NotFoundError("Knowledge base not found.")
    head = _head(kb_id, row)
    if revision is None:
        revision = head.revision
    _check_revision(revision, head.revision)
    text_ref = cast(bytes | None, row[6])
    now = configuration_of(connection, head, head.configured_at, text_ref)
    then, configured_at = now, head.configured_at
    if revision < head.configured_at:
        configured_at, text_ref_then = configured(connection, head, revision)
        then = configuration_of(connection, head, configured_at, text_ref_then)
    written = scopes_written(connection, head, cast(bytes | None, row[7]))
    return Snapshot(
        connection=connection,
        kb_id=kb_id,
        head=head,
        revision=revision,
        access=access_of(now, caller, written),
        scopes_written=written,
        configuration_now=now,
        configuration=then,
        configured_at=configured_at,
        texts=TextReader(connection, kb_id),
    )


def revision_at(connection: Queryable, kb_id: UUID, micros: int) -> RevisionAt:
    """The last revision committed at or before a time (UTC microseconds).

    Raises NotFoundError without such a knowledge base, RevisionNotRetainedError before its
    first commit. That the time is not beyond now is for the caller to check.
    """
    head = read_head(connection, kb_id)
    if head is None:
        raise NotFoundError("Knowledge base not found.")
    # Times never fall from one revision to the next.
    revision = bisect_right(
        range(1, head.revision + 1),
        micros,
        key=lambda number: _committed_at(connection, kb_id, number),
    )
    if revision == 0:
        raise RevisionNotRetainedError(
            "The knowledge base had no revision at that time.", retainedFrom=RETAINED_FROM
        )
    return RevisionAt(
        revision=revision,
        committed_at=_committed_at(connection, kb_id, revision),
        final=micros < head.committed_at,
    )


def _committed_at(connection: Queryable, kb_id: UUID, revision: int) -> int:
    """The time of a commit that exists, in UTC microseconds."""
    row = connection.one(_COMMITTED_AT, {"kb_id": kb_id.bytes, "revision": revision})
    assert row is not None, f"revision {revision} was committed"
    return cast(int, row[0])


def _head(kb_id: UUID, row: Row) -> Head:
    return Head(
        kb_id=kb_id,
        revision=cast(int, row[0]),
        position=cast(int, row[1]),
        committed_at=cast(int, row[2]),
        digest=cast(bytes, row[3]),
        generation=cast(int, row[4]),
        configured_at=cast(int, row[5]),
    )


def _check_revision(revision: int, newest: int) -> None:
    if revision > newest:
        raise RevisionNotReachedError(
            f"Revision {revision} is not reached; the newest is {newest}.",
            revision=revision,
            activeContentRevision=newest,
        )
    if revision < RETAINED_FROM:
        raise RevisionNotRetainedError(
            f"Revision {revision} cannot be read; the oldest is {RETAINED_FROM}.",
            revision=revision,
            retainedFrom=RETAINED_FROM,
        )
