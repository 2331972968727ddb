"""Checkpoints: stretches of an index that are kept in the database, so that a start need not
read the rows they were made of.

One is written in pieces, each in a transaction of its own, and last its manifest: without that
it is not there. Whoever reads one checks that it is whole, of this format, and of the history
that his transaction sees; anything else is passed over, and the rows are read.
"""

from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from typing import cast
from uuid import UUID

import msgspec
import structlog
from eventsourcing.persistence import PersistenceError
from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, literal_column, select, tuple_

from kbstore.store.commits import Head
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Row, Statement, Value, Values
from kbstore.store.tables import commits
from projections.intervals import of_kb
from projections.lexical.checkpoint_tables import search_checkpoint_pieces, search_checkpoints
from projections.lexical.documents import DocumentsPart
from projections.lexical.segments import Segment
from projections.lexical.stored import FORMAT, decode_stretch, encode_stretch
from projections.pace import Pace

PIECE_BYTES_IN_FILE = 128 * 1024
"""A piece is inserted in about the time that a transaction may lock a SQLite file."""

PIECE_BYTES_ON_SERVER = 4 * 1024 * 1024

log = structlog.get_logger()
_M, _P = search_checkpoints.c, search_checkpoint_pieces.c
_MANIFEST = (
    _M.first_document,
    _M.documents,
    _M.format,
    _M.position,
    _M.rows_at_position,
    _M.revision,
    _M.digest,
    _M.pieces,
    _M.checksum,
)
_MANIFESTS = Statement(
    select(*_MANIFEST, commits.c.digest.label("committed"))
    .join(
        commits,
        (commits.c.kb_id == _M.kb_id) & (commits.c.revision == _M.revision),
    )
    .where(of_kb(search_checkpoints), _M.revision <= bindparam("last"))
)
_PIECE = Statement(
    select(_P.data).where(
        of_kb(search_checkpoint_pieces),
        _P.first_document == bindparam("first"),
        _P.documents == bindparam("documents"),
        _P.piece == bindparam("piece"),
    )
)
_DIGEST = Statement(
    select(commits.c.digest).where(
        commits.c.kb_id == bindparam("kb_id"), commits.c.revision == bindparam("revision")
    )
)
_ADD_MANIFEST = Statement(insert(search_checkpoints))
_ADD_PIECE = Statement(insert(search_checkpoint_pieces))
_DELETE_MANIFESTS = Statement(delete(search_checkpoints).where(of_kb(search_checkpoints)))
_PIECE_KEY = list(search_checkpoint_pieces.primary_key.columns)
_DELETE_PIECE = Statement(
    delete(search_checkpoint_pieces).where(
        tuple_(*_PIECE_KEY).in_(
            select(*_PIECE_KEY)
            .where(of_kb(search_checkpoint_pieces))
            .order_by(*_PIECE_KEY)
            .limit(literal_column("1"))
        )
    )
)


class End(Struct, frozen=True):
    """The last row of a stretch: its position, how many rows of that position are in it or
    before it, and its commit."""

    position: int
    rows_at_position: int
    revision: int


class Manifest(Struct, frozen=True):
    """What says that a stretch is there, as its row does."""

    first: int
    documents: int
    format: int
    position: int
    rows_at_position: int
    revision: int
    digest: bytes
    pieces: int
    checksum: bytes

    @property
    def end(self) -> End:
        return End(self.position, self.rows_at_position, self.revision)


class Stretch(Struct, frozen=True):
    """A segment of an index, its documents, and where it ends."""

    segment: Segment
    documents: DocumentsPart
    end: End


class Checkpoints:
    """The checkpoints of a generation as one head sees them, read in the transaction at hand."""

    def __init__(self, connection: Queryable, head: Head) -> None:
        self._connection = connection
        self._key: dict[str, Value] = {
            "kb_id": head.kb_id.bytes,
            "generation": head.generation,
        }
        found: defaultdict[int, list[Manifest]] = defaultdict(list)
        for row in self._rows(head.revision):
            manifest = _manifest(row)
            if manifest is not None:
                found[manifest.first].append(manifest)
        self._longest_first = {
            first: sorted(some, key=lambda manifest: -manifest.documents)
            for first, some in found.items()
        }

    def _rows(self, last: int) -> list[Row]:
        try:
            return self._connection.all(_MANIFESTS, {**self._key, "last": last})
        except PersistenceError:
            # Damaged, as below; where it is the connection that is lost, the next query says so.
            log.warning("checkpoints_not_read")
            return []

    def at(self, first: int) -> tuple[Stretch, bytes] | None:
        """The longest stretch that is whole and begins with this document, and the digest of
        the commit it ends in."""
        for manifest in self._longest_first.get(first, ()):
            try:
                data = self._data(manifest)
            except PersistenceError:
                # A page of the file may be damaged; those of the rows need not be.
                data = None
            if data is not None:
                segment, documents = decode_stretch(data)
                return Stretch(segment, documents, manifest.end), manifest.digest
            log.warning("checkpoint_passed_over", first=first, documents=manifest.documents)
        return None

    def _data(self, manifest: Manifest) -> bytes | None:
        """All pieces; None where they are not what the manifest says."""
        key = {**self._key, "first": manifest.first, "documents": manifest.documents}
        pieces: list[bytes] = []
        for number in range(manifest.pieces):
            row = self._connection.one(_PIECE, {**key, "piece": number})
            if row is None or not isinstance(row[0], bytes):
                return None
            pieces.append(row[0])
        data = b"".join(pieces)
        return data if _checksum(self._key, manifest, data) == manifest.checksum else None


def _manifest(row: Row) -> Manifest | None:
    """The manifest of a row; None where it is foreign or damaged."""
    *values, committed = row
    try:
        manifest = msgspec.convert(values, tuple[int, int, int, int, int, int, bytes, int, bytes])
    except msgspec.ValidationError:
        return None
    found = Manifest(*manifest)
    return found if found.format == FORMAT and found.digest == committed else None


def _checksum(key: Values, manifest: Manifest, data: bytes) -> bytes:
    about = [
        key["kb_id"],
        key["generation"],
        manifest.first,
        manifest.documents,
        manifest.format,
        manifest.position,
        manifest.rows_at_position,
        manifest.revision,
        manifest.digest,
        manifest.pieces,
    ]
    found = sha256(msgspec.msgpack.encode(about))
    found.update(data)
    return found.digest()


def write_checkpoint(
    connection: Connection, kb_id: UUID, generation: int, stretch: Stretch, pace: Pace, piece: int
) -> None:
    """Keeps a stretch, in pieces of so many bytes; nothing of the same one may be there yet.

    Each piece is a transaction, between two of which `pace` pauses.
    """
    key: dict[str, Value] = {"kb_id": kb_id.bytes, "generation": generation}
    segment, end = stretch.segment, stretch.end
    data = encode_stretch(segment, stretch.documents)
    row = connection.one(_DIGEST, {**key, "revision": end.revision})
    assert row is not None, "rows are of commits that are there"
    manifest = Manifest(
        segment.first,
        segment.count,
        FORMAT,
        end.position,
        end.rows_at_position,
        end.revision,
        cast(bytes, row[0]),
        -(-len(data) // piece),
        b"",
    )
    key |= {"first_document": manifest.first, "documents": manifest.documents}
    for number, start in enumerate(range(0, len(data), piece)):
        with connection.writing():
            part = data[start : start + piece]
            connection.run(_ADD_PIECE, {**key, "piece": number, "data": part})
        pace.pause()
    values = {field: getattr(manifest, field) for field in manifest.__struct_fields__[2:-1]}
    with connection.writing():
        checksum = _checksum(key, manifest, data)
        connection.run(_ADD_MANIFEST, {**key, **values, "checksum": checksum})


def delete_checkpoints(connection: Connection, kb_id: UUID, generation: int, pace: Pace) -> None:
    """Deletes the checkpoints of a generation: first what says that they are there."""
    key: Values = {"kb_id": kb_id.bytes, "generation": generation}
    with connection.writing():
        connection.run(_DELETE_MANIFESTS, key)
    is_left = True
    while is_left:
        with connection.writing():
            is_left = connection.count(_DELETE_PIECE, key) > 0
        pace.pause()


def iterate_stretches(checkpoints: Checkpoints, first: int) -> Iterator[tuple[Stretch, bytes]]:
    """Stretches that follow each other from a document on, as far as there are any."""
    found = checkpoints.at(first)
    while found is not None:
        yield found
        first += found[0].segment.count
        found = checkpoints.at(first)
