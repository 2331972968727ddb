"""What a plan is made of: the page operations of one commit, in the order to decide them."""

from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

Handle = UUID | int
"""A page that exists before the commit, or n: the one that operation n of the plan creates."""


class PlanCreate(Struct, frozen=True, kw_only=True):
    """A new page; a `parent` of None is the scope page, a `body` of None a page that groups."""

    token: int
    parent: Handle | None
    key: str
    name: str
    body: str | None


class PlanEdit(Struct, frozen=True, kw_only=True):
    """Absent fields stay as they are; a `body` of None clears it. `version` is the page's own
    before the commit, here as in every operation on a page that exists."""

    page: UUID
    version: int
    name: str | UnsetType = UNSET
    body: str | None | UnsetType = UNSET


class PlanMove(Struct, frozen=True, kw_only=True):
    """`key` is None for a keyless page alone. A new page is moved only out of a temporary
    place; its `version` is None."""

    page: Handle
    version: int | None
    parent: Handle | None
    key: str | None


class PlanDelete(Struct, frozen=True, kw_only=True):
    page: UUID
    version: int


PlannedOperation = PlanCreate | PlanEdit | PlanMove | PlanDelete


class Counts(Struct, frozen=True, kw_only=True):
    """Pages, by what the plan does to them; one that is moved and edited counts in both.

    `followed` counts the files that a page above carried to their new path, `unchanged` those
    named by the line that stand where they stood, as they were.
    """

    created: int = 0
    edited: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    followed: int = 0


class Plan(Struct, frozen=True, kw_only=True):
    """The operations of one commit; without any, the commit is not written."""

    operations: tuple[PlannedOperation, ...]
    counts: Counts
