"""From a plan to the commands of one commit."""

from collections.abc import Callable

from msgspec import UNSET

from api.imports.plan import (
    Handle,
    Plan,
    PlanCreate,
    PlanDelete,
    PlanEdit,
    PlanMove,
    PlannedOperation,
)
from kbstore.domain.commands import (
    CreatePage,
    DeletePage,
    EditPage,
    MovePage,
    PageOperation,
    PageTarget,
)
from kbstore.domain.preparing import prepare_body
from kbstore.ids import IdSource
from kbstore.limits import IMPORT_OPERATIONS_PER_LINE_MAX
from kbstore.text import Analysis
from kbstore.texts import prepare_text

Analyse = Callable[[str], Analysis]


def operations_of(
    plan: Plan, scope: str, ids: IdSource, analyse: Analyse
) -> tuple[PageOperation, ...]:
    """The operations of a plan, their texts prepared; each states the version it expects."""
    return tuple(_operation(planned, scope, ids, analyse) for planned in plan.operations)


def _operation(
    planned: PlannedOperation, scope: str, ids: IdSource, analyse: Analyse
) -> PageOperation:
    match planned:
        case PlanCreate():
            return CreatePage(
                scope=scope,
                parent=_target(planned.parent),
                key=planned.key,
                name=prepare_text(planned.name, ids),
                body=None
                if planned.body is None
                else prepare_body(planned.body, ids, analyse(planned.body)),
            )
        case PlanEdit():
            return EditPage(
                page=planned.page,
                expected_version=planned.version,
                name=UNSET if planned.name is UNSET else prepare_text(planned.name, ids),
                body=planned.body
                if planned.body is UNSET or planned.body is None
                else prepare_body(planned.body, ids, analyse(planned.body)),
            )
        case PlanMove():
            page = _target(planned.page)
            assert page is not None
            return MovePage(
                page=page,
                expected_version=planned.version,
                parent=_target(planned.parent),
                key=planned.key,
                pages_max=IMPORT_OPERATIONS_PER_LINE_MAX,
            )
        case PlanDelete():
            return DeletePage(page=planned.page, expected_version=planned.version)


def _target(handle: Handle | None) -> PageTarget | None:
    return f"${handle}" if isinstance(handle, int) else handle
