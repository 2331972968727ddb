"""The tables that checkpoints of the index are kept in: a cache, made of `search_documents`.

Checksums, verifying and copying pass them over; a checkpoint that is not there costs time alone.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
)

caches = MetaData()


def _key() -> list[Column[object]]:
    """A stretch of the documents of a generation."""
    return [
        Column("kb_id", LargeBinary(16), nullable=False),
        Column("generation", BigInteger, nullable=False),
        Column("first_document", BigInteger, nullable=False),
        Column("documents", BigInteger, nullable=False),
    ]


search_checkpoints = Table(
    "search_checkpoints",
    caches,
    *_key(),
    Column("format", Integer, nullable=False),
    # The last of its rows: its position, how many rows of that position it has, its commit.
    Column("position", BigInteger, nullable=False),
    Column("rows_at_position", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("pieces", Integer, nullable=False),
    # SHA-256 of all of the above and of the pieces.
    Column("checksum", LargeBinary(32), nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "first_document", "documents"),
)

search_checkpoint_pieces = Table(
    "search_checkpoint_pieces",
    caches,
    *_key(),
    Column("piece", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "first_document", "documents", "piece"),
)
