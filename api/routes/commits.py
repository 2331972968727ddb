"""Several operations in one commit: all of them or none."""

from typing import Annotated

from msgspec import Meta

from api.batches import EditOperation, Operations
from api.bodies import Body
from api.operations import writes
from api.parameters import Parameters, Revision
from api.representations import CommitWritten
from api.routes.pages import PLACING
from api.write import Write
from api.writing import WriteRules
from api.written import commit_written
from kbstore.domain.commands import Batch, PageOperation
from kbstore.errors import (
    PageDeclaredError,
    PageHasChildrenError,
    PreconditionRequiredError,
    RevisionConflictError,
    RevisionNotReachedError,
    ScopePageError,
    TooManyPagesError,
    ValidationError,
    VersionConflictError,
    WouldCreateCycleError,
)
from kbstore.limits import COMMIT_MESSAGE_CODE_POINTS_MAX, OPERATIONS_PER_COMMIT_MAX
from kbstore.text import clean_text


class CommitBody(Body, frozen=True, kw_only=True):
    """Expected versions are those before the commit; `"$0"` names the page that operation 0
    creates. `dryRun` answers with the events it would write, and writes none."""

    message: Annotated[str, Meta(max_length=COMMIT_MESSAGE_CODE_POINTS_MAX)] | None = None
    expected_revision: Revision | None = None
    dry_run: bool = False
    operations: Annotated[
        tuple[Operations, ...], Meta(min_length=1, max_length=OPERATIONS_PER_COMMIT_MAX)
    ]


@writes(
    "commit",
    "POST",
    "/commits",
    "Write several operations in one commit",
    parameters=Parameters,
    body=CommitBody,
    answer=CommitWritten,
    creates=True,
    rules=WriteRules(render=commit_written),
    errors=(
        *PLACING,
        PageDeclaredError,
        PageHasChildrenError,
        PreconditionRequiredError,
        RevisionConflictError,
        RevisionNotReachedError,
        ScopePageError,
        TooManyPagesError,
        VersionConflictError,
        WouldCreateCycleError,
    ),
)
async def write_commit(write: Write, given: Parameters, body: CommitBody) -> Batch:
    write.is_dry_run = body.dry_run
    if body.message is not None:
        write.message = clean_text(body.message, "message") or None

    def prepare() -> tuple[PageOperation, ...]:
        return tuple(_prepared(write, body, index) for index in range(len(body.operations)))

    operations = await write.call.server.pool.run(prepare)
    return Batch(operations=operations, expected_revision=body.expected_revision)


def _prepared(write: Write, body: CommitBody, index: int) -> PageOperation:
    """The command of one operation; a refusal names the field within the whole body."""
    operation = body.operations[index]
    try:
        if body.expected_revision is None and operation.lacks_expectation:
            raise PreconditionRequiredError(
                'Say which version is changed: expectedVersion, or "any".',
                field="expectedVersion",
            )
        _check_range(body, index)
        return operation.command(write)
    except (ValidationError, PreconditionRequiredError) as refusal:
        refusal.details["field"] = f"operations[{index}].{refusal.details['field']}"
        raise


def _check_range(body: CommitBody, index: int) -> None:
    """A range counts the lines of one known body, so it stands alone for its page."""
    operation = body.operations[index]
    if not isinstance(operation, EditOperation) or not operation.has_range:
        return
    (page,) = operation.changes
    if sum(page in other.changes for other in body.operations) > 1:
        raise ValidationError(
            "A page that is edited by range is changed by no other operation of the commit.",
            field="range",
            reason="repeated",
        )


OPERATIONS = (write_commit,)
