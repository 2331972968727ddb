"""What knowledge_page takes, and what it answers."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, field

from api.ranges import RangeBody
from api.reading import State
from api.tools.knowledge.entries import PageName, page_name
from api.tools.knowledge.listing import Reference
from api.tools.knowledge.planning import Address, ExpectedVersion
from api.tools.tool import Arguments, Result
from kbstore.domain.decision import Subject
from kbstore.errors import NotFoundError
from kbstore.limits import (
    BODY_BYTES_MAX,
    DESCRIPTION_TOKENS_MAX,
    KEY_CODE_POINTS_MAX,
    NAME_CODE_POINTS_MAX,
)
from kbstore.service import Outcome
from projections.read.pages import version_of
from projections.read.refs import standing
from projections.read.rows import readable_row
from projections.read.standing import place_of
from projections.snapshot import Snapshot
from projections.views import View

# The limits of texts are told here and kept by the store, which counts them after NFC and
# refuses in its own words.
_Key = Annotated[str, Meta(extra_json_schema={"maxLength": KEY_CODE_POINTS_MAX})]
_Name = Annotated[str, Meta(extra_json_schema={"maxLength": NAME_CODE_POINTS_MAX})]
_Body = Annotated[str, Meta(extra_json_schema={"maxLength": BODY_BYTES_MAX})]


class KnowledgePageArguments(Arguments, frozen=True, kw_only=True):
    """What to do, with which page, and what it is to say or where it is to stand."""

    op: Annotated[
        Literal["write", "move", "merge", "delete"],
        Meta(description="write with page edits that page, without page it creates one."),
    ]
    page: Annotated[
        Reference | None,
        Meta(
            description="The page to edit, move, merge or delete: an id, scope address, page "
            "path or exact name."
        ),
    ] = None
    scope: Annotated[
        Address | None,
        Meta(description="Create: the home scope. Move: the destination scope. An address."),
    ] = None
    parent: Annotated[
        Reference | None,
        Meta(
            description="Create or move: a parent page in that scope. Without it the page stands "
            "right under the scope's page."
        ),
    ] = None
    into: Annotated[
        Reference | None,
        Meta(description="Merge: the page that remains. Both pages' notes are kept."),
    ] = None
    key: Annotated[
        _Key | None,
        Meta(
            description="Create: one path segment, unique among the page's siblings, with no "
            '"/", "#" or "%"; parent supplies the rest of the path. Move: another key; without '
            "it the page keeps its own."
        ),
    ] = None
    name: Annotated[
        _Name | None, Meta(description="The page name, one line. Required on create.")
    ] = None
    description: Annotated[
        str | None,
        Meta(
            description=f"A short synopsis, at most {DESCRIPTION_TOKENS_MAX} tokens. An empty "
            "string clears it."
        ),
    ] = None
    body: Annotated[
        _Body | None,
        Meta(
            description="The curated long-form summary, in Markdown, without line numbers. "
            "Replaces the whole body, or with range only those lines; an empty body with range "
            "removes them."
        ),
    ] = None
    range: Annotated[
        RangeBody | None,
        Meta(
            description="Edit: the lines to replace, from a knowledge_read range or matches "
            "entry, or a smaller range inside one. Needs expectedVersion."
        ),
    ] = None
    expected_version: ExpectedVersion = None


class WrittenPage(PageName, frozen=True, kw_only=True):
    """A page as it stands now; `version` is what expectedVersion takes next."""

    id: UUID
    version: int


class RenamedPage(View, frozen=True, kw_only=True):
    """A child that got another key, because the page that remains had one with the same."""

    page: str
    before: str = field(name="from")
    after: str = field(name="to")


class KnowledgePageResult(Result, frozen=True, kw_only=True):
    """`changed` is false where everything already was as asked. After a merge `page` is the
    page that remains; it is null after a deletion, or where it is out of the run's reach."""

    changed: bool
    page: WrittenPage | None
    renamed: tuple[RenamedPage, ...] | UnsetType = UNSET


def page_result(
    state: State, outcome: Outcome, given: KnowledgePageArguments
) -> KnowledgePageResult:
    """What came of a call, read at the revision that it made."""
    (subject,) = outcome.subjects
    return KnowledgePageResult(
        revision=outcome.revision,
        changed=outcome.changed,
        page=_written(state.snapshot, subject.id),
        renamed=_renamed(state.snapshot, subject) or UNSET,
    )


def _written(snapshot: Snapshot, page_id: UUID) -> WrittenPage | None:
    try:
        page = standing(snapshot, page_id)
    except NotFoundError:
        return None
    named = page_name(snapshot, page)
    return WrittenPage(ref=named.ref, name=named.name, id=page_id, version=version_of(page))


def _renamed(snapshot: Snapshot, subject: Subject) -> tuple[RenamedPage, ...]:
    """The children that got another key, those the run may read where they stand and stood."""
    if not subject.renamed:
        return ()
    then = snapshot.at(snapshot.revision - 1)
    renamed = []
    for page_id, before, after in subject.renamed:
        row = readable_row(snapshot, page_id)
        if row is not None and readable_row(then, page_id) is not None:
            ref = place_of(snapshot, row).ref
            renamed.append(RenamedPage(page=ref, before=before, after=after))
    return tuple(renamed)
