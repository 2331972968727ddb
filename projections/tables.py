"""The tables that replay fills.

A row is valid in `[from_revision, to_revision)`; `CURRENT` marks one that is valid still.
Keys start (knowledge base, generation): a rebuild fills a new generation beside the active
one. Rows are narrow and hold no body: that is a text id away.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    text,
)

from kbstore.limits import REVISION_MAX
from kbstore.store.tables import Text

CURRENT = REVISION_MAX + 1
"""`to_revision` of a row that no later revision has ended."""

metadata = MetaData()
_CURRENT_ONLY = text(f"to_revision = {CURRENT}")


def _ids(*names: str) -> list[Column[object]]:
    return [Column(name, LargeBinary(16), nullable=False) for name in names]


def _interval() -> list[Column[object]]:
    return [
        Column("kb_id", LargeBinary(16), nullable=False),
        Column("generation", BigInteger, nullable=False),
        Column("from_revision", BigInteger, nullable=False),
        Column("to_revision", BigInteger, nullable=False),
    ]


pages = Table(
    "pages",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("generation", BigInteger, nullable=False),
    *_ids("page_id"),
    # Where the page stands now, or last stood: today's access is asked of it at any revision.
    Column("scope", Text, nullable=False),
    Column("ended_at", BigInteger),
    # "deleted" or "merged", and the version the event that ended the page gave it.
    Column("ended_how", Text),
    Column("ended_version", BigInteger),
    # Where a chain of merges ends: when that page is merged away too, this follows.
    Column("merged_into", LargeBinary(16)),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    # The declaration the page was written from: its scope and its key path joined by "/".
    Column("template_scope", Text),
    Column("template_path", Text),
    PrimaryKeyConstraint("kb_id", "generation", "page_id"),
    Index(
        "pages_by_template",
        "kb_id",
        "generation",
        "template_scope",
        "template_path",
        sqlite_where=text("template_path IS NOT NULL"),
        postgresql_where=text("template_path IS NOT NULL"),
    ),
    Index(
        "pages_by_end",
        "kb_id",
        "generation",
        "ended_at",
        "page_id",
        sqlite_where=text("ended_at IS NOT NULL"),
        postgresql_where=text("ended_at IS NOT NULL"),
    ),
    Index(
        "pages_by_merge",
        "kb_id",
        "generation",
        "merged_into",
        sqlite_where=text("merged_into IS NOT NULL"),
        postgresql_where=text("merged_into IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

page_versions = Table(
    "page_versions",
    metadata,
    *_interval(),
    *_ids("page_id"),
    Column("version", BigInteger, nullable=False),
    Column("scope", Text, nullable=False),
    Column("parent_id", LargeBinary(16)),
    Column("key", Text),
    Column("key_fold", Text),
    Column("name", Text, nullable=False),
    # What siblings are listed by: the folded name.
    Column("name_fold", Text, nullable=False),
    Column("description", Text),
    # References: MessagePack of TextRef, BodyRef and Links.
    Column("name_ref", LargeBinary, nullable=False),
    Column("description_ref", LargeBinary),
    Column("body_ref", LargeBinary),
    Column("links", LargeBinary),
    Column("updated_at", BigInteger, nullable=False),
    Column("updated_by", Text, nullable=False),
    # The position of the event that ended the row, 0 of a current one. So the current row of
    # a page keeps its key while it changes, and the rows of a page sort as they were ended.
    Column("ended_by", BigInteger, nullable=False),
    # A commit may give a page several versions: all but its last are valid nowhere
    # (`to_revision` equals `from_revision`) and serve history alone.
    PrimaryKeyConstraint("kb_id", "generation", "page_id", "to_revision", "ended_by"),
    # Not unique: a page that follows an ancestor into another scope keeps its version.
    Index("page_versions_version", "kb_id", "generation", "page_id", "version"),
    Index(
        "page_versions_children",
        "kb_id",
        "generation",
        "parent_id",
        "name_fold",
        "page_id",
        sqlite_where=_CURRENT_ONLY,
        postgresql_where=_CURRENT_ONLY,
    ),
    Index(
        "page_versions_children_as_of",
        "kb_id",
        "generation",
        "parent_id",
        "to_revision",
        # Finding a child by its key passes over its siblings inside the index.
        "key_fold",
    ),
    # The backstop of KEY_TAKEN: the rules look before they decide.
    Index(
        "page_versions_key",
        "kb_id",
        "generation",
        "parent_id",
        "key_fold",
        unique=True,
        sqlite_where=text(f"to_revision = {CURRENT} AND key_fold IS NOT NULL"),
        postgresql_where=text(f"to_revision = {CURRENT} AND key_fold IS NOT NULL"),
    ),
    Index(
        "page_versions_name",
        "kb_id",
        "generation",
        "name",
        "to_revision",
    ),
    Index(
        "page_versions_scope_page",
        "kb_id",
        "generation",
        "scope",
        "to_revision",
        sqlite_where=text("parent_id IS NULL"),
        postgresql_where=text("parent_id IS NULL"),
    ),
    sqlite_with_rowid=False,
)

deletions = Table(
    "deletions",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("deletion", BigInteger, nullable=False),
    *_ids("page_id"),
    Column("version", BigInteger, nullable=False),
    Column("scope", Text, nullable=False),
    # The order pages were deleted in; restoring goes the other way.
    Column("position", BigInteger, nullable=False),
    Column("restored_at", BigInteger),
    PrimaryKeyConstraint("kb_id", "generation", "deletion", "page_id"),
    sqlite_with_rowid=False,
)

notes = Table(
    "notes",
    metadata,
    *_interval(),
    *_ids("note_id", "page_id"),
    Column("version", BigInteger, nullable=False),
    Column("text_ref", LargeBinary, nullable=False),
    Column("text", Text, nullable=False),
    Column("stamps", Text, nullable=False),
    Column("when_text", Text),
    Column("links", LargeBinary),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("updated_by", Text, nullable=False),
    # The position of the event that added the note: what notes are listed by.
    Column("added_position", BigInteger, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "note_id", "from_revision"),
    Index("notes_by_page", "kb_id", "generation", "page_id", "added_position", "from_revision"),
)

note_stamps = Table(
    "note_stamps",
    metadata,
    *_interval(),
    *_ids("note_id"),
    Column("scope", Text, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "note_id", "scope", "from_revision"),
    sqlite_with_rowid=False,
)

note_heads = Table(
    "note_heads",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("generation", BigInteger, nullable=False),
    *_ids("note_id", "page_id"),
    Column("removed_at", BigInteger),
    PrimaryKeyConstraint("kb_id", "generation", "note_id"),
    sqlite_with_rowid=False,
)

pins = Table(
    "pins",
    metadata,
    *_interval(),
    *_ids("pin_id", "page_id"),
    Column("version", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    Column("audience", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("updated_by", Text, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "pin_id", "from_revision"),
    Index("pins_by_page", "kb_id", "generation", "page_id", "from_revision"),
    sqlite_with_rowid=False,
)

pin_audiences = Table(
    "pin_audiences",
    metadata,
    *_interval(),
    *_ids("pin_id"),
    Column("scope", Text, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "pin_id", "scope", "from_revision"),
    Index("pin_audiences_by_scope", "kb_id", "generation", "scope", "to_revision"),
    sqlite_with_rowid=False,
)

links = Table(
    "links",
    metadata,
    *_interval(),
    # The page the link stands on; of a note's link, the note's page and the note.
    *_ids("source_page"),
    Column("source_note", LargeBinary(16)),
    # Page or note id: one row a link of one text.
    *_ids("source_id"),
    Column("ordinal", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("target_page", LargeBinary(16)),
    # Of an unbound link, what it is found by: see `projections.link_targets`.
    Column("target_fold", Text),
    Column("line", Integer, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "source_id", "ordinal", "from_revision"),
    Index(
        "links_by_source",
        "kb_id",
        "generation",
        "source_page",
        "source_id",
        sqlite_where=_CURRENT_ONLY,
        postgresql_where=_CURRENT_ONLY,
    ),
    Index("links_by_target", "kb_id", "generation", "target_page", "to_revision"),
    Index(
        "links_unbound",
        "kb_id",
        "generation",
        "target_fold",
        "to_revision",
        sqlite_where=text("target_page IS NULL"),
        postgresql_where=text("target_page IS NULL"),
    ),
)

configurations = Table(
    "configurations",
    metadata,
    *_interval(),
    Column("text_ref", LargeBinary, nullable=False),
    Column("configuration", Text, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "from_revision"),
)

scopes = Table(
    "scopes",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("scope", Text, nullable=False),
    # The first revision a page of this scope was written at.
    Column("since", BigInteger, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "scope"),
    # The newest entry says whether a set of scopes read before is still whole.
    Index("scopes_by_since", "kb_id", "generation", "since"),
    sqlite_with_rowid=False,
)

activity = Table(
    "activity",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("topic", Text, nullable=False),
    Column("actor", Text, nullable=False),
    # The page an event concerns; NULL for events of the knowledge base itself.
    Column("page_id", LargeBinary(16)),
    # The page's scope after the event and, where it differs, before it.
    Column("scope", Text),
    Column("scope_before", Text),
    Column("note_id", LargeBinary(16)),
    Column("pin_id", LargeBinary(16)),
    # The other page of a merge.
    Column("other_page_id", LargeBinary(16)),
    Column("version", BigInteger, nullable=False),
    PrimaryKeyConstraint("kb_id", "generation", "position"),
    Index("activity_by_page", "kb_id", "generation", "page_id", "position"),
    Index("activity_by_actor", "kb_id", "generation", "actor", "position"),
    sqlite_with_rowid=False,
)

search_documents = Table(
    "search_documents",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("generation", BigInteger, nullable=False),
    # The event, and the page or note the row is of: an event may take pages along.
    Column("position", BigInteger, nullable=False),
    *_ids("subject_id"),
    Column("revision", BigInteger, nullable=False),
    # Whether the page or note is gone from here on.
    Column("has_ended", SmallInteger, nullable=False),
    # Of a page: where it stands or last stood, and its name as a query is compared to it;
    # NULL for a scope page, whose name is the configuration's business.
    Column("scope", Text),
    Column("phrase", Text),
    # Of a note: its page and its stamps.
    Column("page_id", LargeBinary(16)),
    Column("stamps", Text),
    # What results are newest by: when a page was updated, when a note was created.
    Column("ranked_at", BigInteger, nullable=False),
    # What changed of the terms since the subject's row before: see `projections.lexical.changes`.
    Column("changes", LargeBinary),
    PrimaryKeyConstraint("kb_id", "generation", "position", "subject_id"),
)
