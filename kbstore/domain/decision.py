"""What a decision is made with, and what it comes to."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from kbstore.access import Access, Configuration
from kbstore.domain.declared import DeclaredOf, nothing_declared
from kbstore.domain.events import NIL, Event, PageCreated, PageEvent
from kbstore.domain.lookup import Lookup
from kbstore.ids import IdSource
from kbstore.texts import PreparedText


class Context(Struct, frozen=True, kw_only=True):
    """Everything a rule may look at. `revision` is the head the command is decided on.

    `configured_at` is the revision of the configuration, 0 before the first one, `kb_version`
    the number of events the knowledge base itself has. The last three fields tell what earlier
    operations of the same commit did (`after` fills them): the version before the commit of
    each page they touched, the pages they created, and which page operation n created (NIL
    for one that created none), which is what the target `$n` names.
    """

    kb_id: UUID
    revision: int
    configuration: Configuration
    configured_at: int
    kb_version: int = 0
    access: Access
    lookup: Lookup
    ids: IdSource
    declared: DeclaredOf = nothing_declared
    base_versions: Mapping[UUID, int] = field(default_factory=dict)
    created: frozenset[UUID] = frozenset()
    places: tuple[UUID, ...] = ()


class Subject(Struct, frozen=True, omit_defaults=True):
    """What a command was about: `kind` is page, note, pin, configuration or knowledge_base.

    `created` tells a 201 from a 200. After a merge it is the page that remains, and `renamed`
    lists `(page id, old key, new key)` of the children that got a new key.
    """

    kind: str
    id: UUID
    created: bool = False
    renamed: tuple[tuple[UUID, str, str], ...] = ()


class Decision(Struct, frozen=True, kw_only=True):
    """The events to write and the texts they name, in order; no events: nothing changes.

    `subjects` has one entry for each operation of a batch, in order, else exactly one.
    """

    events: tuple[Event, ...] = ()
    texts: tuple[PreparedText, ...] = ()
    subjects: tuple[Subject, ...]

    @property
    def changed(self) -> bool:
        return bool(self.events)


def pages_changed(decision: Decision) -> frozenset[UUID]:
    """The pages a decision counts for: those with an event but the ones that are written only
    because they are declared above another."""
    return frozenset(
        event.originator_id
        for event in decision.events
        if isinstance(event, PageEvent)
        and not (isinstance(event, PageCreated) and event.template is not None)
    )


def after(context: Context, decision: Decision) -> Context:
    """The context for the next operation of the same commit, once these events are applied.

    The lookup is taken over: it has to show the state that the events lead to.
    """
    versions = dict(context.base_versions)
    created = set[UUID]()
    for event in decision.events:
        if isinstance(event, PageEvent):
            versions.setdefault(event.originator_id, event.originator_version - 1)
            # A declared page had version 0 before; whoever names it may expect just that.
            if isinstance(event, PageCreated) and event.template is None:
                created.add(event.originator_id)
    subject = decision.subjects[0]
    place = subject.id if subject.kind == "page" and subject.created else NIL
    return replace(
        context,
        base_versions=versions,
        created=context.created | created,
        places=(*context.places, place),
    )
