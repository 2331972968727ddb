"""What commands of one transaction are decided on, besides the pages themselves."""

from collections.abc import Iterable
from functools import lru_cache
from uuid import UUID

from msgspec import Struct

from kbstore.access import (
    Access,
    Caller,
    Configuration,
    declared_concrete_addresses,
    load_configuration,
)
from kbstore.domain.decision import Context
from kbstore.domain.events import (
    Event,
    KnowledgeBaseConfigured,
    PageCreated,
    PageMoved,
    PageRestored,
)
from kbstore.ids import IdSource
from kbstore.store.configurations import configuration_text
from kbstore.store.projecting import InlineProjections
from kbstore.store.transaction import WriteTransaction

_CONFIGURATIONS_KEPT = 256
_ACCESSES_KEPT = 1_024


class _State(Struct, frozen=True):
    configuration: Configuration
    scopes: frozenset[str]


class Surroundings:
    """The configuration and the scopes of a knowledge base, kept up with as a batch goes on."""

    def __init__(
        self, transaction: WriteTransaction, projections: InlineProjections, ids: IdSource
    ) -> None:
        head = transaction.head
        self._transaction = transaction
        self._ids = ids
        self.lookup = projections.lookup(
            transaction.connection, head.kb_id, head.generation, transaction.texts
        )
        self.state = _State(
            configuration=self._committed_configuration(),
            scopes=self.lookup.scope_addresses(),
        )

    def context(self, caller: Caller, previous: Context | None) -> Context:
        """What the next operation is decided with; `previous` goes before it in the commit."""
        head = self._transaction.head
        configuration = self.state.configuration
        access = access_of(configuration, caller, self.state.scopes)
        if previous is not None:
            return replace(previous, configuration=configuration, access=access)
        return Context(
            kb_id=head.kb_id,
            revision=head.revision,
            configuration=configuration,
            configured_at=head.configured_at,
            kb_version=self._kb_version,
            access=access,
            lookup=self.lookup,
            ids=self._ids,
            declared=self.declared,
        )

    def declared(self, page_id: UUID) -> DeclaredPage | None:
        """The declaration an id belongs to, among the scopes that are known."""
        ...

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

    def _committed_configuration(self) -> Configuration:
        head = self._transaction.head
        if head.configured_at == 0:
            return Configuration.empty()
        key = (head.kb_id, head.configured_at)
        configuration = _configurations.get(key)
        if configuration is None:
            text, format_ = configuration_text(
                self._transaction.connection, head.kb_id, head.configured_at
            )
            configuration = load_configuration(text, format_)
            if len(_configurations) >= _CONFIGURATIONS_KEPT:
                _configurations.pop(next(iter(_configurations)))
            _configurations[key] = configuration
        return configuration


_configurations: dict[tuple[UUID, int], Configuration] = {}
"""By knowledge base and revision: what is committed there never changes."""


@lru_cache(maxsize=_ACCESSES_KEPT)
def access_of(configuration: Configuration, caller: Caller, scopes: frozenset[str]) -> Access:
    """The access of a caller, over the scopes that have pages, are declared or are held."""
    known = scopes | caller.held | frozenset(declared_concrete_addresses(configuration))
    return Access(configuration, caller, known)
