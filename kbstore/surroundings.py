"""What commands of one transaction are decided on, besides the pages themselves."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from kbstore.access import (
    Access,
    Caller,
    Configuration,
    declaration_of,
    declared_concrete_addresses,
    load_configuration,
)
from kbstore.domain.commands import Configure, CreateKnowledgeBase, Operation
from kbstore.domain.decision import Context
from kbstore.domain.declared import DeclaredPage, declared_pages
from kbstore.domain.events import (
    Event,
    KnowledgeBaseConfigured,
    PageCreated,
    PageMoved,
    PageRestored,
)
from kbstore.domain.lookup import Lookup
from kbstore.ids import DECLARED_PAGE_ID_VERSION, IdSource, declared_page_id
from kbstore.store.commits import Head
from kbstore.store.configurations import configuration_text
from kbstore.store.connection import Queryable
from kbstore.store.heads import last_version
from kbstore.store.projecting import InlineProjections
from kbstore.store.transaction import WriteTransaction

_CONFIGURATIONS_KEPT = 256
_STATES_KEPT = 256
_ACCESSES_KEPT = 1_024


class _State(Struct, frozen=True):
    configuration: Configuration
    scopes: frozenset[str]


class Configurations:
    """Parsed configurations of one database, by knowledge base and revision.

    What is committed there never changes, and uncommitted ones are never asked for.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[UUID, int], Configuration] = OrderedDict()

    def at(self, connection: Queryable, head: Head) -> Configuration:
        """The configuration in force at a committed head."""
        key = (head.kb_id, head.configured_at)
        configuration = self._kept.get(key)
        if configuration is None:
            configuration = committed_configuration(connection, head)
            self._kept[key] = configuration
            if len(self._kept) > _CONFIGURATIONS_KEPT:
                self._kept.popitem(last=False)
        return configuration


class States:
    """The configuration and the scopes at the newest head known of each knowledge base.

    Its digest names a head and all that led to it. So whoever wrote since is noticed, and what
    is kept of a transaction that never commits is never found again.
    """

    def __init__(self) -> None:
        self._configurations = Configurations()
        self._kept: OrderedDict[UUID, tuple[bytes, int, _State]] = OrderedDict()

    def at(self, connection: Queryable, head: Head, lookup: Lookup) -> _State:
        """The state at a committed head."""
        kept = self._kept.get(head.kb_id)
        if kept is not None and kept[:2] == (head.digest, head.generation):
            return kept[2]
        configuration = self._configurations.at(connection, head)
        state = _State(configuration, lookup.scope_addresses())
        self.keep(head, state)
        return state

    def keep(self, head: Head, state: _State) -> None:
        self._kept[head.kb_id] = (head.digest, head.generation, state)
        self._kept.move_to_end(head.kb_id)
        if len(self._kept) > _STATES_KEPT:
            self._kept.popitem(last=False)


class Surroundings:
    """The configuration and the scopes of a knowledge base, kept up with as a batch goes on."""

    def __init__(
        self,
        transaction: WriteTransaction,
        projections: InlineProjections,
        states: States,
        ids: IdSource,
    ) -> None:
        head = transaction.head
        self._transaction = transaction
        self._ids = ids
        self.lookup = projections.lookup(
            transaction.connection, head.kb_id, head.generation, transaction.texts
        )
        self.state = states.at(transaction.connection, head, self.lookup)

    def context(
        self,
        caller: Caller,
        operation: Operation,
        previous: Context | None,
        *,
        named: frozenset[str] = frozenset(),
    ) -> Context:
        """What the next operation is decided with; `previous` goes before it in the commit, and
        the caller named the scopes `named` by their addresses."""
        head = self._transaction.head
        configuration = self.state.configuration
        access = access_of(configuration, caller, self.state.scopes)
        if previous is not None:
            return replace(previous, access=access)
        return Context(
            kb_id=head.kb_id,
            revision=head.revision,
            configuration=configuration,
            configured_at=head.configured_at,
            kb_version=self._kb_version(operation),
            access=access,
            lookup=self.lookup,
            ids=self._ids,
            declared=partial(self._declared, caller, named),
        )

    def _kb_version(self, operation: Operation) -> int:
        if not isinstance(operation, Configure | CreateKnowledgeBase):
            return 0
        head = self._transaction.head
        return last_version(self._transaction.connection, head.kb_id, head.kb_id)

    def _declared(
        self, caller: Caller, named: frozenset[str], page_id: UUID
    ) -> DeclaredPage | None:
        """The declared page with this id among the scopes that have pages, are declared, held or
        named."""
        if page_id.version != DECLARED_PAGE_ID_VERSION:
            return None
        head, state = self._transaction.head, self.state
        known = known_scopes(state.configuration, caller, state.scopes) | named
        scope = declared_scope_of(head.kb_id, state.configuration, known).get(page_id)
        places = known if scope is None else (scope,)
        for place in places:
            for page in declared_pages(state.configuration, head.kb_id, place, self.lookup):
                if page.page_id == page_id:
                    return page
        return None

    def follow(self, events: Iterable[Event]) -> None:
        """Takes in what the events just written change of the surroundings."""
        for event in events:
            match event:
                case KnowledgeBaseConfigured():
                    text = self._transaction.texts.text(event.configuration)
                    self.state = _State(load_configuration(text, "json"), self.state.scopes)
                case PageCreated() | PageMoved() | PageRestored():
                    if event.scope not in self.state.scopes:
                        scopes = self.state.scopes | {event.scope}
                        self.state = _State(self.state.configuration, scopes)
                case _:
                    pass


def committed_configuration(connection: Queryable, head: Head) -> Configuration:
    """The configuration in force at a committed head, parsed anew."""
    if head.configured_at == 0:
        return Configuration.empty()
    text, format_ = configuration_text(connection, head.kb_id, head.configured_at)
    return load_configuration(text, format_)


def known_scopes(
    configuration: Configuration, caller: Caller, written: frozenset[str]
) -> frozenset[str]:
    """The scopes that have pages, are declared or are held by the caller."""
    return written.union(declared_concrete_addresses(configuration), caller.held)


@lru_cache(maxsize=_ACCESSES_KEPT)
def access_of(configuration: Configuration, caller: Caller, written: frozenset[str]) -> Access:
    """The access of a caller over the known scopes; the same for reading and for deciding."""
    return Access(configuration, caller, known_scopes(configuration, caller, written))


@lru_cache(maxsize=_ACCESSES_KEPT)
def declared_scope_of(
    kb_id: UUID, configuration: Configuration, scopes: frozenset[str]
) -> Mapping[UUID, str]:
    """The scope of each declared page by the id it has as long as none written from its
    declaration moved away."""
    found = {}
    for scope in scopes:
        declaration = declaration_of(configuration, scope)
        if declaration is not None:
            for path in ((), *(page.path for page in declaration.templates.pages)):
                found[declared_page_id(kb_id, scope, path, 0)] = scope
    return found
