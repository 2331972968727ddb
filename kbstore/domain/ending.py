"""Deleting pages."""

from kbstore.access import Role
from kbstore.domain.commands import DeletePage
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft
from kbstore.domain.events import PageDeleted
from kbstore.domain.placing import too_many
from kbstore.domain.targets import check_version, page_target, refuse_scope_page
from kbstore.domain.tree import refuse_declared
from kbstore.errors import PageHasChildrenError
from kbstore.limits import PAGES_PER_OPERATION_MAX


def delete(command: DeletePage, context: Context) -> Decision:
    """The page leaves every read, with `subtree` all below it too. Needs owner on its scope.

    Children end before their parents, so that no event leaves a live page under a gone one.
    Notes and pins get no events: they show as long as their page does.
    """
    page = page_target(context, command.page).page
    context.access.require(Role.OWNER, page.scope, "Deleting a page")
    check_version(context, page, command.expected_version)
    refuse_scope_page(page)
    refuse_declared(context, page, "remove")
    if not command.subtree and context.lookup.children(page.page_id, 1):
        raise PageHasChildrenError(
            f'"{page.name}" has child pages; move or delete them first.',
            pageId=str(page.page_id),
        )
    limit = PAGES_PER_OPERATION_MAX
    pages = context.lookup.subtree(page.page_id, limit + 1) if command.subtree else [page]
    if len(pages) > limit:
        raise too_many("Deleting pages")
    draft = Draft(context)
    for ending in reversed(pages):
        draft.add(PageDeleted(originator_id=ending.page_id, originator_version=ending.version + 1))
    return draft.decision(Subject("page", page.page_id))
