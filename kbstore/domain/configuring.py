"""Creating and configuring a knowledge base."""

from kbstore.access import dump_configuration
from kbstore.domain.commands import ANY_VERSION, Configure, CreateKnowledgeBase
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft, unchanged
from kbstore.domain.events import KnowledgeBaseConfigured, KnowledgeBaseCreated
from kbstore.errors import GrantMissingError, ValidationError, VersionConflictError
from kbstore.ids import is_slug


def create_knowledge_base(command: CreateKnowledgeBase, context: Context) -> Decision:
    """The first event of a knowledge base. Whether the slug is free the catalogue decides."""
    assert context.kb_version == 0, "a knowledge base is created once"
    if not is_slug(command.slug):
        raise ValidationError(
            "A slug has lower case letters, digits and hyphens, and no hyphen at its ends.",
            field="slug",
            reason="malformed",
        )
    draft = Draft(context)
    draft.add(
        KnowledgeBaseCreated(originator_id=context.kb_id, originator_version=1, slug=command.slug)
    )
    return draft.decision(Subject("knowledge_base", context.kb_id, created=True))


def configure(command: Configure, context: Context) -> Decision:
    """Replaces the configuration by another, whose text a door has loaded and made canonical.

    Needs the grant `admin`. The version that is expected, and that a VersionConflictError
    names, is the revision of the configuration. The same text again changes nothing.
    """
    if not context.access.caller.is_admin:
        raise GrantMissingError("Configuring needs a key with the grant admin.", grant="admin")
    subject = Subject("configuration", context.kb_id)
    if command.configuration.value == dump_configuration(context.configuration):
        return unchanged(subject)
    expected = command.expected_revision
    if expected not in (None, ANY_VERSION, context.configured_at):
        raise VersionConflictError(
            f"The configuration is that of revision {context.configured_at}.",
            expectedVersion=expected,
            currentVersion=context.configured_at,
        )
    draft = Draft(context)
    event = KnowledgeBaseConfigured(
        originator_id=context.kb_id,
        originator_version=context.kb_version + 1,
        configuration=command.configuration.ref,
        format="json",
    )
    draft.add(event, command.configuration)
    return draft.decision(subject)
