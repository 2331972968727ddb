"""`given(*history).when(*commands).then(*events)`: rules tested without a database."""

from collections.abc import Iterable
from uuid import UUID

import msgspec

from kbstore.access import (
    Access,
    Caller,
    Configuration,
    declared_concrete_addresses,
)
from kbstore.domain.commands import Configure, CreateKnowledgeBase, PageOperation
from kbstore.domain.deciding import decide
from kbstore.domain.decision import Context, Decision, after
from kbstore.domain.declared import DeclaredPage, declared_pages
from kbstore.domain.events import NIL, Event, PageCreated
from kbstore.errors import KBStoreError
from kbstore.testing.memory import MemoryStore
from kbstore.testing.values import HELD, KB, SequentialIds, configuration
from kbstore.texts import PreparedBody, PreparedText

Command = PageOperation | Configure | CreateKnowledgeBase
Past = Command | Event | PreparedText | PreparedBody


def given(
    *history: Past, configured: Configuration | None = None, scopes: Iterable[str] = ()
) -> "Story":
    """The state after a history: commands, each a commit decided for a run that holds HELD;
    events, each a commit as it stands; and the texts that such events name.

    Declared pages can be named by id in scopes that are held, concrete or have a page, and in
    further `scopes`.
    """
    store = MemoryStore(configured or configuration())
    story = Story(store, SequentialIds(), (), frozenset(scopes))
    for item in history:
        story = story.after(item)
    return story


class Story:
    """A state to decide on; nothing changes it.

    `$n` as a page means the one that the nth command or event since `given` created, from 0.
    """

    def __init__(
        self,
        store: MemoryStore,
        ids: SequentialIds,
        places: tuple[UUID, ...],
        scopes: frozenset[str],
    ) -> None:
        self.store = store
        self._ids = ids
        self._places = places
        self._scopes = scopes

    def id(self, place: int) -> UUID:
        """The id of the page `$place`."""
        return self._places[place]

    def when(
        self, *commands: Command, held: Iterable[str] = HELD, grants: Iterable[str] = ()
    ) -> "Outcome":
        """Decides a command, or several as the operations of one commit, for a run that holds
        these scopes and grants."""
        store = self.store.copy()
        store.revision += 1
        context = self.context(held, grants)
        decisions = []
        for command in commands:
            at = self._looking_at(context, store)
            try:
                decision = decide(command, at)
            except KBStoreError as refusal:
                return Outcome(refusal, self)
            store.apply(decision.events, decision.texts)
            store.check_tree()
            context = after(at, decision)
            decisions.append(decision)
        decision = Decision(
            events=tuple(event for made in decisions for event in made.events),
            texts=tuple(text for made in decisions for text in made.texts),
            subjects=tuple(subject for made in decisions for subject in made.subjects),
        )
        if not decision.changed:
            store = self.store
        return Outcome(decision, self._following(store, context.places))

    def after(self, item: Past) -> "Story":
        """The story with one more item of history."""
        if isinstance(item, PreparedText | PreparedBody | Event):
            store = self.store.copy()
            if isinstance(item, Event):
                store.commit([item])
                place = item.originator_id if isinstance(item, PageCreated) else NIL
                return self._following(store, (*self._places, place))
            text = item.text if isinstance(item, PreparedBody) else item
            store.add_texts([text, *([text.targets] if text.targets else [])])
            return self._following(store, self._places)
        return self.when(item, grants=("admin",)).story

    def context(self, held: Iterable[str] = HELD, grants: Iterable[str] = ()) -> Context:
        """What a rule would be given for a run that holds these scopes and grants."""
        caller = Caller(principal="agent:tester", held=frozenset(held), grants=frozenset(grants))
        context = Context(
            kb_id=KB,
            revision=self.store.revision,
            configuration=self.store.configuration,
            configured_at=self.store.configured_at,
            kb_version=self.store.kb_version,
            access=_access(self.store, caller),
            lookup=self.store,
            ids=self._ids,
            places=self._places,
        )
        return self._looking_at(context, self.store)

    def _following(self, store: MemoryStore, places: tuple[UUID, ...]) -> "Story":
        return Story(store, self._ids, places, self._scopes)

    def _looking_at(self, context: Context, store: MemoryStore) -> Context:
        """The context over this store, which finds the declared pages of the known scopes."""
        scopes = _known_scopes(store) | context.access.caller.held | self._scopes

        def declared(page_id: UUID) -> DeclaredPage | None:
            for scope in sorted(scopes):
                for page in declared_pages(store.configuration, KB, scope, store):
                    if page.page_id == page_id:
                        return page
            return None

        return msgspec.structs.replace(context, lookup=store, declared=declared)


class Outcome:
    """What commands came to: a decision or a refusal."""

    def __init__(self, result: Decision | KBStoreError, story: Story) -> None:
        self._result = result
        self._story = story

    @property
    def decision(self) -> Decision:
        """The decision; raises the refusal where there was one."""
        if isinstance(self._result, KBStoreError):
            raise self._result
        return self._result

    @property
    def events(self) -> tuple[Event, ...]:
        return self.decision.events

    @property
    def story(self) -> Story:
        """The state the events lead to."""
        assert self.decision is not None
        return self._story

    def then(self, *events: Event) -> Story:
        """Asserts that exactly these events were decided, in this order."""
        assert events, "then_nothing() says that nothing changes"
        assert self.events == events, f"decided {self.events}"
        return self._story

    def then_nothing(self) -> Story:
        """Asserts that the commands are accepted and change nothing."""
        assert self.events == (), f"decided {self.events}"
        assert self.decision.texts == ()
        return self._story

    def then_refused(self, error: type[KBStoreError], **details: object) -> KBStoreError:
        """Asserts a refusal of exactly this class, whose details hold at least these."""
        refusal = self._result
        assert isinstance(refusal, KBStoreError), f"decided {refusal.events}"
        assert type(refusal) is error, f"refused with {refusal.code}: {refusal.message}"
        differing = {
            name: refusal.details.get(name)
            for name, value in details.items()
            if refusal.details.get(name) != value
        }
        assert not differing, f"details say {refusal.details}"
        return refusal


def _access(store: MemoryStore, caller: Caller) -> Access:
    return Access(store.configuration, caller, _known_scopes(store) | caller.held)


def _known_scopes(store: MemoryStore) -> frozenset[str]:
    return store.scope_addresses() | set(declared_concrete_addresses(store.configuration))
