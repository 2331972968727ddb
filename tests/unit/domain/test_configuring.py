"""Creating and configuring a knowledge base."""

import pytest

from kbstore.access import Configuration, dump_configuration
from kbstore.domain.commands import ANY_VERSION, Configure, CreateKnowledgeBase
from kbstore.domain.events import KnowledgeBaseConfigured, KnowledgeBaseCreated
from kbstore.errors import GrantMissingError, ValidationError, VersionConflictError
from kbstore.testing import CONFIGURATION, KB, Story, configuration, configure, given, page, text

OTHER = '[scopes."org:$org"]\n'


def fresh() -> Story:
    return given(CreateKnowledgeBase(slug="handbook"), configured=Configuration.empty())


def test_a_knowledge_base_begins_with_its_slug() -> None:
    outcome = given().when(CreateKnowledgeBase(slug="handbook"))
    outcome.then(KnowledgeBaseCreated(originator_id=KB, originator_version=1, slug="handbook"))
    assert outcome.decision.subjects[0].created


@pytest.mark.parametrize("slug", ["", "Hand", "-a", "a-", "a_b", "x" * 64, str(KB)])
def test_a_slug_that_addresses_nothing_is_refused(slug: str) -> None:
    given().when(CreateKnowledgeBase(slug=slug)).then_refused(ValidationError, field="slug")


def test_the_first_configuration_follows_the_creation() -> None:
    outcome = fresh().when(configure(CONFIGURATION, 0), grants=["admin"])
    canonical = dump_configuration(configuration())
    after = outcome.then(
        KnowledgeBaseConfigured(
            originator_id=KB,
            originator_version=2,
            configuration=text(canonical).ref,
            format="json",
        )
    )
    assert [prepared.value for prepared in outcome.decision.texts] == [canonical]
    assert after.store.configuration == configuration()
    assert (after.store.configured_at, after.store.kb_version) == (2, 2)


def test_the_grant_admin_is_needed() -> None:
    for grants in ([], ["auditor"]):
        refusal = fresh().when(configure(CONFIGURATION), grants=grants)
        refusal.then_refused(GrantMissingError, grant="admin")


def test_the_same_configuration_changes_nothing_with_a_stale_revision_too() -> None:
    given().when(configure(CONFIGURATION, 99), grants=["admin"]).then_nothing()
    empty = Configure(configuration=text(dump_configuration(Configuration.empty())))
    fresh().when(empty, grants=["admin"]).then_nothing()


def test_the_revision_expected_is_that_of_the_configuration() -> None:
    story = given(page("A"), configure(OTHER), configure(CONFIGURATION), page("B"))
    assert (story.store.revision, story.store.configured_at) == (4, 3)
    story.when(configure(OTHER, 4), grants=["admin"]).then_refused(
        VersionConflictError, expectedVersion=4, currentVersion=3
    )
    for expected in (3, ANY_VERSION, None):
        assert story.when(configure(OTHER, expected), grants=["admin"]).events
