"""Naming a page that was merged away."""

from collections.abc import Callable
from uuid import UUID

from kbstore.domain.commands import EditPage, MergePage, MovePage, PageOperation, RestorePage
from kbstore.errors import NotFoundError, ParentNotFoundError
from kbstore.testing import SCOPE, given, nth_id, page, text


def test_where_a_page_went_shows_to_who_could_read_it() -> None:
    story = given(
        page("Secret", scope="vault:acme"), page("B"), page("C"), MergePage(page="$0", into="$1")
    )
    into = str(story.id(1))
    missing = nth_id(999)
    commands: tuple[Callable[[UUID], PageOperation], ...] = (
        lambda gone: EditPage(page=gone, name=text("x")),
        lambda gone: MergePage(page="$2", into=gone),
        lambda gone: MergePage(page=gone, into="$2"),
        lambda gone: RestorePage(page=gone),
    )
    for command in commands:
        hidden = story.when(command(story.id(0)), held=[SCOPE]).then_refused(NotFoundError)
        absent = story.when(command(missing), held=[SCOPE]).then_refused(NotFoundError)
        assert hidden.details == absent.details == {}
        story.when(command(story.id(0))).then_refused(NotFoundError, mergedInto=into)
    for below in (page("D", parent=story.id(0)), MovePage(page="$2", parent=story.id(0))):
        refusal = story.when(below, held=[SCOPE]).then_refused(ParentNotFoundError)
        assert refusal.details == {"parentId": str(story.id(0))}
        story.when(below).then_refused(ParentNotFoundError, mergedInto=into)
