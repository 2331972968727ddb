"""Pins: who is given a page, or the listing under it, every turn."""

from collections.abc import Collection
from uuid import UUID

from kbstore.access import Role, is_declared, parse_address
from kbstore.domain.commands import RemovePin, SetPin
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft, unchanged
from kbstore.domain.events import PinRemoved, PinSet
from kbstore.domain.state import PinState
from kbstore.domain.targets import page_target
from kbstore.errors import ForbiddenError, RoleTooWeakError, ValidationError
from kbstore.ids import pin_id
from kbstore.limits import PIN_AUDIENCE_MAX, PIN_DEPTH_LEVELS_MAX

PIN_KINDS = ("page", "list")


def set_pin(command: SetPin, context: Context) -> Decision:
    """The audience given replaces the caller's part of it; scopes outside his authority stay.

    Needs editor on the page's scope and, for each audience scope, holding it or editor on it.
    """
    target = page_target(context, command.page)
    page = target.page
    context.access.require(Role.EDITOR, page.scope, "Pinning a page")
    _check_kind(command.kind)
    _check_depth(command.kind, command.depth)
    given = _checked_audience(context, command.audience)
    identity = pin_id(page.page_id, command.kind)
    pin = context.lookup.pin(identity)
    before = frozenset(pin.audience) if pin else frozenset[str]()
    access = context.access
    audience = given | {s for s in before if not access.has_pin_authority(s)}
    # Where he knows of no audience, there was no pin to him.
    created = not any(access.knows_audience(s) for s in before)
    if pin is not None and audience == before and pin.depth == command.depth:
        return unchanged(Subject("pin", identity))
    draft = Draft(context)
    written = draft.write(target)
    draft.add(_set(identity, pin, written.page_id, command.kind, audience, command.depth))
    return draft.decision(Subject("pin", identity, created=created))


def remove_pin(command: RemovePin, context: Context) -> Decision:
    """Takes the audiences given out of the pin, and the pin with the last one.

    Without audiences it takes out all the caller has authority over. The roles are those of
    `set_pin`; what no pin delivers changes nothing.
    """
    page = page_target(context, command.page).page
    context.access.require(Role.EDITOR, page.scope, "Unpinning a page")
    _check_kind(command.kind)
    identity = pin_id(page.page_id, command.kind)
    pin = context.lookup.pin(identity)
    before = frozenset(pin.audience) if pin else frozenset[str]()
    if command.audience is None:
        taken = frozenset(s for s in before if context.access.has_pin_authority(s))
    else:
        taken = before & _checked_audience(context, command.audience)
    subject = Subject("pin", identity)
    if pin is None or not taken:
        return unchanged(subject)
    draft = Draft(context)
    draft.add(_set_or_removed(pin, before - taken))
    return draft.decision(subject)


def merge_pins(context: Context, draft: Draft, page_id: UUID, into_id: UUID) -> None:
    """Of two pins of a kind that of `into` stays, for both audiences; else the pin goes over.

    Together they may have more than PIN_AUDIENCE_MAX: a refusal would count hidden ones.
    """
    for kind in PIN_KINDS:
        ending = context.lookup.pin(pin_id(page_id, kind))
        if ending is None or not ending.audience:
            continue
        identity = pin_id(into_id, kind)
        kept = context.lookup.pin(identity)
        before = frozenset(kept.audience) if kept else frozenset[str]()
        audience = before.union(ending.audience)
        if audience != before:
            depth = kept.depth if kept is not None and before else ending.depth
            draft.add(_set(identity, kept, into_id, kind, audience, depth))
        draft.add(_set_or_removed(ending, frozenset()))


def _set(
    identity: UUID,
    pin: PinState | None,
    page_id: UUID,
    kind: str,
    audience: frozenset[str],
    depth: int,
) -> PinSet:
    return PinSet(
        originator_id=identity,
        originator_version=pin.version + 1 if pin else 1,
        page_id=page_id,
        kind=kind,
        audience=tuple(sorted(audience)),
        depth=depth,
    )


def _set_or_removed(pin: PinState, audience: frozenset[str]) -> PinSet | PinRemoved:
    if audience:
        return _set(pin.pin_id, pin, pin.page_id, pin.kind, audience, pin.depth)
    return PinRemoved(originator_id=pin.pin_id, originator_version=pin.version + 1)


def _checked_audience(context: Context, given: tuple[str, ...]) -> frozenset[str]:
    """The scopes in NFC, each declared and under the caller's authority.

    PIN_AUDIENCE_MAX counts these alone, so that no refusal tells of scopes outside of it.
    """
    if not given:
        raise ValidationError(
            "Pinning needs audience: the scopes whose runs receive it.",
            field="audience",
            reason="missing",
        )
    audience = [parse_address(scope, "audience") for scope in given]
    if len(set(audience)) < len(audience):
        raise ValidationError(
            "An audience scope stands twice.", field="audience", reason="duplicate"
        )
    _check_size(audience)
    for scope in audience:
        _check_authority(context, scope)
    return frozenset(audience)


def _check_authority(context: Context, scope: str) -> None:
    """A scope the caller neither holds nor reads looks undeclared."""
    declared = is_declared(context.configuration, scope)
    if declared and context.access.has_pin_authority(scope):
        return
    if declared and context.access.can_read(scope):
        raise _no_authority(context, scope)
    raise ValidationError(
        f'Pin audience "{scope}" does not match a declared scope type.',
        field="audience",
        reason="undeclared",
        scope=scope,
    )


def _no_authority(context: Context, scope: str) -> ForbiddenError:
    return RoleTooWeakError(
        f'Pinning for "{scope}" needs holding it or editor on it; this run has neither.',
        scope=scope,
        needed=Role.EDITOR.word,
        actual=context.access.standing(scope),
    )


def _check_kind(kind: str) -> None:
    if kind not in PIN_KINDS:
        raise ValidationError("kind is page or list.", field="kind", reason="unknownValue")


def _check_depth(kind: str, depth: int) -> None:
    if not 1 <= depth <= PIN_DEPTH_LEVELS_MAX:
        raise ValidationError(
            f"depth is 1 to {PIN_DEPTH_LEVELS_MAX}.", field="depth", reason="outOfRange"
        )
    if kind != "list" and depth != 1:
        raise ValidationError(
            'depth is only for pins of the kind "list".', field="depth", reason="outOfPlace"
        )


def _check_size(audience: Collection[str]) -> None:
    if len(audience) > PIN_AUDIENCE_MAX:
        raise ValidationError(
            f"A pin takes at most {PIN_AUDIENCE_MAX} audience scopes at once.",
            field="audience",
            reason="tooMany",
            limit=PIN_AUDIENCE_MAX,
        )
