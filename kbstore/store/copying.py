"""Copying a knowledge base into another database: its log with the texts, the claims of its
requests, and last its entry in the catalogue, with its keys and its head.

Rows are copied as they are stored, so that every digest stays what it was. Whoever opens the
other database sees nothing of the knowledge base before its entry is there.
"""

from collections.abc import Iterator, Sequence
from typing import cast
from uuid import UUID

from eventsourcing.persistence import IntegrityError
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Boolean, Table, bindparam, delete, insert, or_, select, tuple_

from kbstore.domain.events import Event, text_refs
from kbstore.errors import SlugTakenError, StoreError
from kbstore.store import tables
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.commits import Head
from kbstore.store.connection import Connection, Queryable
from kbstore.store.copies import CopyMark, begin_copy, forget_copy, keep_copy, lock_copy
from kbstore.store.heads import committed_digest
from kbstore.store.idempotency import claims_webhook
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Row, Statement, Value

EVENTS_PER_BATCH = 256
TEXTS_READ_WITH_EVENTS = 16
BATCH_BYTES_MAX = 8 * 1024 * 1024
"""No more events are taken once the texts of those before are so large."""
CLAIMS_PER_BATCH = 500
ROWS_PER_DELETE = 2_000

Values = dict[str, Value]


class _Rows:
    """The rows of one table, read as they are and written the same way."""

    def __init__(self, table: Table) -> None:
        self._names = [column.name for column in table.c]
        # SQLite keeps them as integers.
        self._booleans = [column.name for column in table.c if isinstance(column.type, Boolean)]
        self.select = select(*table.c).where(table.c.kb_id == bindparam("kb_id"))
        self.insert = Statement(insert(table))

    def values(self, row: Row) -> Values:
        values = dict(zip(self._names, row, strict=True))
        for name in self._booleans:
            values[name] = bool(values[name])
        return values


_EVENTS, _COMMITS, _TEXTS = _Rows(tables.events), _Rows(tables.commits), _Rows(tables.texts)
_CLAIMS, _KEYS = _Rows(tables.idempotency), _Rows(tables.api_keys)
_KBS, _HEADS = _Rows(tables.knowledge_bases), _Rows(tables.heads)
_EVENT, _COMMIT, _CLAIM = tables.events.c, tables.commits.c, tables.idempotency.c
_NEXT_EVENTS = Statement(
    _EVENTS.select.where(
        _EVENT.position > bindparam("position"), _EVENT.position <= bindparam("last")
    )
    .order_by(_EVENT.position)
    .limit(bindparam("limit"))
)
_NEXT_COMMITS = Statement(
    _COMMITS.select.where(
        _COMMIT.revision > bindparam("revision"),
        _COMMIT.first_position + _COMMIT.event_count - 1 <= bindparam("position"),
    )
    .order_by(_COMMIT.revision)
    .limit(bindparam("limit"))
)
_SOME_TEXTS = Statement(
    _TEXTS.select.where(tables.texts.c.text_id.in_(bindparam("ids", expanding=True)))
)
_TEXTS_THERE = Statement(
    select(tables.texts.c.text_id).where(
        tables.texts.c.kb_id == bindparam("kb_id"),
        tables.texts.c.text_id.in_(bindparam("ids", expanding=True)),
    )
)
_NEXT_CLAIMS = Statement(
    _CLAIMS.select.where(
        tuple_(_CLAIM.principal, _CLAIM.key) > tuple_(bindparam("principal"), bindparam("key")),
        # The others belong to commits that are not copied.
        or_(_CLAIM.revision.is_(None), _CLAIM.revision <= bindparam("revision")),
    )
    .order_by(_CLAIM.principal, _CLAIM.key)
    .limit(bindparam("limit"))
)
_DELETE_CLAIM = Statement(
    delete(tables.idempotency).where(
        _CLAIM.kb_id == bindparam("kb_id"),
        _CLAIM.principal == bindparam("principal"),
        _CLAIM.key == bindparam("key"),
    )
)
_SELECT_KEYS = Statement(_KEYS.select)
_SELECT_KB = Statement(_KBS.select)


def _delete_some(table: Table) -> Statement:
    key = list(table.primary_key.columns)
    some = select(*key).where(table.c.kb_id == bindparam("kb")).limit(ROWS_PER_DELETE)
    return Statement(delete(table).where(tuple_(*key).in_(some)))


_DISCARDS = [
    _delete_some(table)
    for table in (tables.events, tables.commits, tables.texts, tables.idempotency)
]


class _Batch(Struct, frozen=True):
    """Rows that follow what stands on the other side, and the mark once they do too."""

    events: list[Values]
    commits: list[Values]
    texts: dict[Value, Values]
    mark: CopyMark


class LogCopier:
    """Copies one knowledge base from `source` to `target`, batch by batch."""

    def __init__(self, source: Connection, target: Connection, kb_id: UUID) -> None:
        self._source = source
        self._target = target
        self._kb: Values = {"kb_id": kb_id.bytes}
        self._kb_id = kb_id

    def begin(self) -> CopyMark:
        """The mark of a copy that nothing stands of; what does stand there is deleted first."""
        self.discard()
        with self._target.writing():
            return begin_copy(self._target, self._kb_id)

    def continues(self, mark: CopyMark) -> bool:
        """Whether what stands on the other side is how the log of this side begins."""
        there = committed_digest(self._target, self._kb_id, mark.revision)
        here = committed_digest(self._source, self._kb_id, mark.revision)
        return mark.revision == 0 or (here is not None and there == here)

    def copy_log(self, mark: CopyMark, head: Head) -> Iterator[CopyMark]:
        """Copies events, commits and texts up to a head; gives the mark after each batch, which
        is a transaction."""
        while mark.position < head.position:
            with self._source.reading():
                batch = self._read(mark, head)
            self._write(mark, batch)
            mark = batch.mark
            yield mark

    def copy_claims(self, mark: CopyMark) -> Iterator[int]:
        """Copies the claims of what was copied; gives how many after each batch."""
        after: Values = {"principal": "", "key": ""}
        count = 0
        while True:
            values = {**self._kb, **after, "revision": mark.revision, "limit": CLAIMS_PER_BATCH}
            rows = self._source.all(_NEXT_CLAIMS, values)
            if not rows:
                return
            found = [_CLAIMS.values(row) for row in rows]
            # Webhooks stay behind, so whoever creates one anew has to get a new one.
            claims = [
                claim for claim in found if not claims_webhook(cast(bytes, claim["subjects"]))
            ]
            with self._target.writing(is_pipelined=True):
                lock_copy(self._target, mark)
                # A run that was killed may have copied them.
                self._target.run_many(_DELETE_CLAIM, claims)
                self._target.run_many(_CLAIMS.insert, claims)
            count += len(claims)
            after = found[-1]
            yield count

    def enter(self, mark: CopyMark, head: Head) -> None:
        """Adds the knowledge base to the catalogue, with its keys and its head, in the open
        transaction. `mark` gets the checksums that were proved.

        Raises SlugTakenError, and StoreError where it or one of its keys is there already.
        """
        target = self._target
        row = self._source.one(_SELECT_KB, self._kb)
        assert row is not None, "what is copied is in the catalogue"
        entry = _KBS.values(row)
        check_is_free(target, self._kb_id, str(entry["slug"]))
        keys = [_KEYS.values(key) for key in self._source.all(_SELECT_KEYS, self._kb)]
        try:
            target.run(_KBS.insert, entry)
            target.run_many(_KEYS.insert, keys)
            target.run(
                _HEADS.insert,
                {
                    **self._kb,
                    "revision": head.revision,
                    "position": head.position,
                    "committed_at": head.committed_at,
                    "digest": head.digest,
                    "generation": head.generation,
                    "configured_at": head.configured_at,
                },
            )
        except IntegrityError as error:
            raise StoreError(
                f"The other database has the knowledge base, its name or one of its keys: {error}."
            ) from error
        keep_copy(target, mark)

    def discard(self) -> None:
        """Deletes what stands on the other side of a copy that is not in the catalogue."""
        # The mark goes first: it must never stand for rows that are being deleted.
        with self._target.writing():
            forget_copy(self._target, self._kb_id)
        for statement in _DISCARDS:
            deleted = ROWS_PER_DELETE
            while deleted == ROWS_PER_DELETE:
                with self._target.writing():
                    deleted = self._target.count(statement, {"kb": self._kb_id.bytes})

    def _read(self, mark: CopyMark, head: Head) -> _Batch:
        """What comes behind a mark: few enough events that they and their texts fit in memory."""
        rows = self._source.all(
            _NEXT_EVENTS,
            {
                **self._kb,
                "position": mark.position,
                "last": head.position,
                "limit": EVENTS_PER_BATCH,
            },
        )
        events: list[Values] = []
        texts: dict[Value, Values] = {}
        size = 0
        for start in range(0, len(rows), TEXTS_READ_WITH_EVENTS):
            some = [_EVENTS.values(row) for row in rows[start : start + TEXTS_READ_WITH_EVENTS]]
            found = self._texts_of(some)
            events += some
            texts.update(found)
            size += sum(_size(text) for text in found.values())
            if size >= BATCH_BYTES_MAX:
                break
        if not events:
            raise StoreError(
                f"The log has nothing at position {mark.position + 1}; "
                "`kbstore verify` tells more.",
                position=mark.position + 1,
            )
        position = _whole(events[-1]["position"])
        rows = self._source.all(
            _NEXT_COMMITS,
            {
                **self._kb,
                "revision": mark.revision,
                "position": position,
                "limit": EVENTS_PER_BATCH,
            },
        )
        commits = [_COMMITS.values(row) for row in rows]
        revision = _whole(commits[-1]["revision"]) if commits else mark.revision
        return _Batch(events, commits, texts, replace(mark, revision=revision, position=position))

    def _texts_of(self, events: Sequence[Values]) -> dict[Value, Values]:
        """The texts that events name, by id. One that is not there stays away: verifying the
        log of the other side tells."""
        ids = {ref.text_id.bytes for event in events for ref in text_refs(_decoded(event))}
        if not ids:
            return {}
        rows = self._source.all(_SOME_TEXTS, {**self._kb, "ids": list(ids)})
        found = [_TEXTS.values(row) for row in rows]
        return {text["text_id"]: text for text in found}

    def _write(self, mark: CopyMark, batch: _Batch) -> None:
        target = self._target
        with target.writing(is_pipelined=True):
            lock_copy(target, mark)
            # An event may name the text of an earlier one.
            ids = list(batch.texts)
            there = target.all(_TEXTS_THERE, {**self._kb, "ids": ids}) if ids else []
            new = set(ids).difference(text_id for (text_id,) in there)
            target.run_many(
                _TEXTS.insert, [batch.texts[text_id] for text_id in ids if text_id in new]
            )
            target.run_many(_EVENTS.insert, batch.events)
            target.run_many(_COMMITS.insert, batch.commits)
            keep_copy(target, batch.mark)


def check_is_free(target: Queryable, kb_id: UUID, slug: str) -> None:
    """Raises StoreError where the knowledge base is in the catalogue, SlugTakenError where
    another one has its slug."""
    if find_knowledge_base(target, str(kb_id)) is not None:
        raise StoreError(f"The other database holds the knowledge base {slug} already.", slug=slug)
    if find_knowledge_base(target, slug) is not None:
        raise SlugTakenError(f"The other database has another knowledge base {slug}.", slug=slug)


def _decoded(event: Values) -> Event:
    originator_id, payload = event["originator_id"], event["payload"]
    assert isinstance(originator_id, bytes)
    assert isinstance(payload, bytes)
    return decode_payload(
        str(event["topic"]), payload, UUID(bytes=originator_id), _whole(event["originator_version"])
    )


def _size(text: Values) -> int:
    data = text["data"]
    assert isinstance(data, bytes)
    return len(data)


def _whole(value: Value) -> int:
    assert isinstance(value, int)
    return value
