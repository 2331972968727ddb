"""Setting and removing pins."""

import pytest

from kbstore.domain.commands import DeletePage, RemovePin, SetPin
from kbstore.domain.events import PinRemoved, PinSet
from kbstore.errors import NotFoundError, RoleTooWeakError, ValidationError
from kbstore.ids import declared_page_id, pin_id
from kbstore.limits import PIN_AUDIENCE_MAX, PIN_DEPTH_LEVELS_MAX
from kbstore.testing import KB, SCOPE, Story, given, page

TEAM = "team:acme:support"
VAULT = "vault:acme"
SALES = "role:acme:sales"
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)


def pin(*audience: str, kind: str = "page", depth: int = 1) -> SetPin:
    return SetPin(page="$0", kind=kind, audience=audience, depth=depth)


def unpin(*audience: str, kind: str = "page") -> RemovePin:
    return RemovePin(page="$0", kind=kind, audience=audience or None)


def pinned(*audience: str, kind: str = "page", depth: int = 1) -> Story:
    return given(page("A"), pin(*audience, kind=kind, depth=depth))


def set_event(story: Story, version: int, *audience: str, kind: str = "page") -> PinSet:
    return PinSet(
        originator_id=pin_id(story.id(0), kind),
        originator_version=version,
        page_id=story.id(0),
        kind=kind,
        audience=audience,
    )


def test_a_pin_is_set_with_its_audience_in_order() -> None:
    story = given(page("A"))
    outcome = story.when(pin(TEAM, SCOPE))
    outcome.then(set_event(story, 1, SCOPE, TEAM))
    subject = outcome.decision.subjects[0]
    assert (subject.kind, subject.id, subject.created) == ("pin", pin_id(story.id(0), "page"), True)


def test_a_page_has_one_pin_of_each_kind() -> None:
    story = pinned(SCOPE)
    outcome = story.when(pin(SCOPE, kind="list"))
    outcome.then(set_event(story, 1, SCOPE, kind="list"))


def test_the_audience_given_replaces_the_callers_part_alone() -> None:
    story = pinned(SCOPE, VAULT)
    outcome = story.when(pin(TEAM), held=[SCOPE])
    outcome.then(set_event(story, 2, TEAM, VAULT))
    assert not outcome.decision.subjects[0].created
    story.when(pin(TEAM)).then(set_event(story, 2, TEAM))


@pytest.mark.parametrize("held", [[SCOPE], [SCOPE, VAULT]])
def test_setting_what_is_set_changes_nothing(held: list[str]) -> None:
    pinned(SCOPE, TEAM).when(pin(TEAM, SCOPE), held=held).then_nothing()


def test_hidden_audiences_do_not_show() -> None:
    pinned(SCOPE, VAULT).when(pin(SCOPE), held=[SCOPE]).then_nothing()


def test_pinning_a_list_again_sets_its_depth() -> None:
    story = pinned(SCOPE, kind="list", depth=2)
    story.when(pin(SCOPE, kind="list", depth=2)).then_nothing()
    (changed,) = story.when(pin(SCOPE, kind="list", depth=3)).events
    assert isinstance(changed, PinSet)
    assert changed.depth == 3


@pytest.mark.parametrize("depth", [0, PIN_DEPTH_LEVELS_MAX + 1])
def test_depths_out_of_range(depth: int) -> None:
    given(page("A")).when(pin(SCOPE, kind="list", depth=depth)).then_refused(
        ValidationError, field="depth", reason="outOfRange"
    )
    assert given(page("A")).when(pin(SCOPE, kind="list", depth=PIN_DEPTH_LEVELS_MAX)).events


def test_depth_is_for_lists() -> None:
    given(page("A")).when(pin(SCOPE, depth=2)).then_refused(
        ValidationError, field="depth", reason="outOfPlace"
    )


@pytest.mark.parametrize("command", [pin(SCOPE, kind="tree"), unpin(SCOPE, kind="tree")])
def test_kinds_are_page_and_list(command: SetPin | RemovePin) -> None:
    given(page("A")).when(command).then_refused(
        ValidationError, field="kind", reason="unknownValue"
    )


def test_an_audience_is_needed_limited_and_different() -> None:
    story = given(page("A"))
    teams = tuple(f"team:acme:{n}" for n in range(PIN_AUDIENCE_MAX + 1))
    assert story.when(pin(*teams[1:])).events
    story.when(pin(*teams)).then_refused(
        ValidationError, field="audience", reason="tooMany", limit=PIN_AUDIENCE_MAX
    )
    story.when(pin()).then_refused(ValidationError, field="audience", reason="missing")
    story.when(pin(TEAM, TEAM)).then_refused(ValidationError, reason="duplicate")
    story.when(pin("team")).then_refused(ValidationError, field="audience", reason="malformed")


def test_hidden_audiences_do_not_count_for_the_limit() -> None:
    story = pinned(VAULT)
    teams = tuple(f"team:acme:{n}" for n in range(PIN_AUDIENCE_MAX))
    story.when(pin(*teams), held=[SCOPE]).then(set_event(story, 2, *sorted(teams), VAULT))


def test_a_pin_is_created_for_who_knew_of_no_audience() -> None:
    def created(story: Story, audience: str, *held: str) -> bool:
        return story.when(pin(audience), held=held).decision.subjects[0].created

    assert created(pinned(VAULT), SCOPE, SCOPE)
    assert not created(pinned(VAULT), SCOPE, SCOPE, VAULT)
    # To read an audience, or to hold it, is to know of it: authority is not needed.
    reading = ["editor:acme", "role:acme:sales"]
    by_role = given(page("A"), SetPin(page="$0", kind="page", audience=(TEAM,)))
    assert not created(by_role, SALES, *reading)
    held = story_pinned_for_sales()
    assert not created(held, SCOPE, *reading)
    assert created(held, SCOPE, "editor:acme")


def story_pinned_for_sales() -> Story:
    story = given(page("A"))
    return story.when(pin(SALES), held=[SCOPE, SALES]).story


def test_holding_an_audience_is_authority_enough() -> None:
    story = given(page("A"))
    held = ["editor:acme", SALES]
    story.when(pin(SALES), held=held).then(set_event(story, 1, SALES))


@pytest.mark.parametrize("audience", ["project:x", SALES, VAULT])
def test_an_audience_that_is_hidden_or_undeclared_looks_undeclared(audience: str) -> None:
    story = given(page("A"))
    for command in (pin(audience), unpin(audience)):
        refusal = story.when(command, held=[SCOPE]).then_refused(
            ValidationError, field="audience", reason="undeclared"
        )
        assert refusal.message == (
            f'Pin audience "{audience}" does not match a declared scope type.'
        )


def test_a_readable_audience_needs_an_editor() -> None:
    story = given(page("V", scope=VAULT))
    for command in (pin(SCOPE), unpin(SCOPE)):
        refusal = story.when(command, held=[VAULT, "contributor:acme"])
        error = refusal.then_refused(
            RoleTooWeakError, scope=SCOPE, needed="editor", actual="contributor"
        )
        assert error.message == (
            'Pinning for "org:acme" needs holding it or editor on it; this run has neither.'
        )


def test_pinning_needs_an_editor_on_the_page() -> None:
    story = pinned(SCOPE)
    weak = story.when(pin(TEAM), held=["viewer:acme"]).then_refused(RoleTooWeakError)
    assert weak.message == 'Pinning a page needs editor on "org:acme"; this run has viewer there.'
    weak = story.when(unpin(), held=["viewer:acme"]).then_refused(RoleTooWeakError)
    assert weak.message == 'Unpinning a page needs editor on "org:acme"; this run has viewer there.'


def test_unpinning_takes_out_the_audiences_given_and_the_pin_with_the_last() -> None:
    story = pinned(SCOPE, TEAM)
    fewer = story.when(unpin(SCOPE)).then(set_event(story, 2, TEAM))
    identity = pin_id(story.id(0), "page")
    gone = fewer.when(unpin(TEAM)).then(PinRemoved(originator_id=identity, originator_version=3))
    again = gone.when(pin(SCOPE))
    again.then(set_event(story, 4, SCOPE))
    assert again.decision.subjects[0].created


def test_unpinning_keeps_the_depth() -> None:
    story = pinned(SCOPE, TEAM, kind="list", depth=3)
    (kept,) = story.when(unpin(TEAM, kind="list")).events
    assert isinstance(kept, PinSet)
    assert kept.depth == 3


def test_unpinning_without_audiences_takes_all_the_caller_has_authority_over() -> None:
    story = pinned(SCOPE, TEAM, VAULT)
    story.when(unpin(), held=[SCOPE]).then(set_event(story, 2, VAULT))
    story.when(unpin()).then(
        PinRemoved(originator_id=pin_id(story.id(0), "page"), originator_version=2)
    )


@pytest.mark.parametrize("command", [unpin(TEAM), unpin(TEAM, kind="list"), unpin(kind="list")])
def test_unpinning_what_is_not_pinned_changes_nothing(command: RemovePin) -> None:
    pinned(SCOPE).when(command).then_nothing()


def test_an_unwritten_page_is_not_written_to_unpin_it() -> None:
    given().when(RemovePin(page=POLICIES, kind="page")).then_nothing()


def test_a_page_that_is_gone_has_no_pin_to_set() -> None:
    story = given(page("A"), DeletePage(page="$0"))
    for command in (pin(SCOPE), unpin(SCOPE)):
        story.when(command).then_refused(NotFoundError)
