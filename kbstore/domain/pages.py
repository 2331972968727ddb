"""Creating and editing pages."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from kbstore.access import Role, parse_address
from kbstore.domain.commands import CreatePage, EditPage
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft, Target, unchanged
from kbstore.domain.events import Links, PageCreated, PageEdited, TextRef
from kbstore.domain.linking import bind, folder_of
from kbstore.domain.state import PageState
from kbstore.domain.targets import check_version, page_target, parent_target, scope_target
from kbstore.domain.tree import check_key_free, check_levels, level_of
from kbstore.errors import ScopePageError, ValidationError
from kbstore.text import clean_key
from kbstore.texts import PreparedBody, PreparedText


def create(command: CreatePage, context: Context) -> Decision:
    """A new page under `parent`, by default the scope page. Needs contributor on the scope."""
    scope = parse_address(command.scope, "scope")
    top = scope_target(context, scope)
    context.access.require(Role.CONTRIBUTOR, scope, "Creating a page")
    key = None if command.key is None else clean_key(command.key)
    parent = top if command.parent is None else parent_target(context, command.parent, scope)
    check_levels(level_of(context, parent.page), 1)
    check_key_free(context, parent.page, key)
    draft = Draft(context)
    above = draft.write(parent)
    description = _none_if_empty(command.description)
    event = PageCreated(
        originator_id=context.ids.new_id(),
        originator_version=1,
        scope=scope,
        parent_id=above.page_id,
        key=key,
        name=command.name.ref,
        description=description.ref if description else None,
        body=command.body.ref if command.body else None,
        links=bind(command.body, context.access, context.lookup, lambda: above),
    )
    draft.add(event, command.name, description, command.body)
    return draft.decision(Subject("page", event.originator_id, created=True))


def edit(command: EditPage, context: Context) -> Decision:
    """Another name, description or body. Needs editor on the page's scope.

    A range edit was made from one version and conflicts with any other; a whole-field edit
    that changes nothing is accepted with a stale version too.
    """
    target = page_target(context, command.page)
    page = target.page
    context.access.require(Role.EDITOR, page.scope, "Editing a page")
    _check_fields(command, page)
    if command.range is not None:
        check_version(context, page, command.expected_version)
    change = _what_changes(command, target, context)
    subject = Subject("page", page.page_id)
    if change.name is UNSET and change.description is UNSET and change.body is UNSET:
        return unchanged(subject)
    check_version(context, page, command.expected_version)
    if page.is_scope_page and (change.name is not UNSET or change.description is not UNSET):
        raise ScopePageError(
            f'"{page.scope}" is a scope page; its name and description come from config, '
            "so only its body can be written.",
            pageId=str(page.page_id),
            scope=page.scope,
        )
    draft = Draft(context)
    links = bind(
        change.body or None,
        context.access,
        context.lookup,
        lambda: folder_of(context.lookup, target),
    )
    draft.add(*_edited(change, draft.write(target), links))
    return draft.decision(subject)


def unwritten_range() -> ValidationError:
    """The refusal of a range of a page that nothing was written to yet: its text is that of the
    configuration in force, so version 0 does not say which lines were counted."""
    return ValidationError(
        "The page was never written, so its version does not name one text; send the whole body.",
        field="range",
        reason="unwritten",
    )


def _check_fields(command: EditPage, page: PageState) -> None:
    said = (command.name, command.description, command.body)
    if all(field is UNSET for field in said):
        raise ValidationError(
            "Editing a page needs at least one of name, description or body.",
            field="body",
            reason="missing",
        )
    if command.range is None:
        return
    if not isinstance(command.body, PreparedBody):
        raise ValidationError("A range needs the body.", field="body", reason="missing")
    if not isinstance(command.expected_version, int):
        raise ValidationError(
            "A range needs expectedVersion: the version it was read from.",
            field="expectedVersion",
            reason="missing",
        )
    if page.is_virtual:
        raise unwritten_range()


def _what_changes(command: EditPage, target: Target, context: Context) -> EditPage:
    """The command with the fields taken out that already are as it wants them."""
    page = target.page
    name = command.name
    if isinstance(name, PreparedText) and name.value == page.name:
        name = UNSET
    description: PreparedText | None | UnsetType = command.description
    if description is not UNSET:
        description = _none_if_empty(description)
        if (description.value if description else None) == page.description:
            description = UNSET
    body = command.body
    if body is not UNSET and _same_body(body, target, context):
        body = UNSET
    return replace(command, name=name, description=description, body=body)


def _same_body(body: PreparedBody | None, target: Target, context: Context) -> bool:
    if target.unwritten:
        return (body.text.value if body else None) == target.unwritten[-1].body
    before = target.page.body
    if body is None or before is None:
        return body is None and before is None
    if (body.lines, body.tokens) != (before.lines, before.tokens):
        return False
    return context.lookup.same_text(before.text, body.text.value)


def _edited(
    change: EditPage, page: PageState, links: Links | None
) -> tuple[PageEdited, PreparedText | None, PreparedText | None, PreparedBody | None]:
    name = None if change.name is UNSET else change.name
    description = None if change.description is UNSET else change.description
    body = None if change.body is UNSET else change.body
    event = PageEdited(
        originator_id=page.page_id,
        originator_version=page.version + 1,
        name=UNSET if name is None else name.ref,
        description=UNSET if change.description is UNSET else _ref(description),
        body=UNSET if change.body is UNSET else (body.ref if body else None),
        links=links,
        range=change.range if body else None,
    )
    return event, name, description, body


def _ref(text: PreparedText | None) -> TextRef | None:
    return text.ref if text else None


def _none_if_empty(text: PreparedText | None) -> PreparedText | None:
    return text if text is not None and text.value else None
