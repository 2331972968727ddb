"""The command service: from a command and its caller to a commit, in one transaction."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from uuid import UUID

from eventsourcing.persistence import IntegrityError
from msgspec import Struct

from kbstore.access import Caller
from kbstore.clock import Clock, SystemClock
from kbstore.domain.commands import Batch, Command, CreateKnowledgeBase, Operation
from kbstore.domain.deciding import decide
from kbstore.domain.decision import Context, Decision, Subject, after, pages_changed
from kbstore.domain.events import Event
from kbstore.errors import (
    KBStoreError,
    RevisionConflictError,
    TooManyPagesError,
    VersionConflictError,
)
from kbstore.ids import IdSource, SystemIds
from kbstore.store.application import Applications, KnowledgeBaseApplication
from kbstore.store.catalogue import Catalogue
from kbstore.store.commits import Origin
from kbstore.store.database import Database
from kbstore.store.idempotency import Claim, StoredClaim, find_claim, store_claim
from kbstore.store.projecting import InlineProjections
from kbstore.store.transaction import OpenCommit, WriteTransaction
from kbstore.store.writer import Writer
from kbstore.surroundings import States, Surroundings


class CommandRequest(Struct, frozen=True, kw_only=True):
    """A command with who asks for it. `claim` carries an Idempotency-Key; a dry run decides
    and writes nothing. `scopes` are addresses that the caller named: their declared pages are
    found by id even where no page was ever written and nobody holds them."""

    kb_id: UUID
    caller: Caller
    command: Command
    origin: Origin
    claim: Claim | None = None
    dry_run: bool = False
    scopes: frozenset[str] = frozenset()


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of it. `revision` is the commit's, the head's when nothing changed; `events`
    are those a dry run would write."""

    revision: int
    changed: bool
    subjects: tuple[Subject, ...]
    replayed: bool = False
    events: tuple[Event, ...] = ()


class CommandService:
    """The one way to write to knowledge bases; safe to call from any thread."""

    def __init__(
        self,
        database: Database,
        projections: InlineProjections,
        clock: Clock | None = None,
        ids: IdSource | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.ids = ids or SystemIds()
        self.catalogue = Catalogue(database, self.clock)
        self.writer = Writer(database, projections, self.clock)
        self.applications = Applications(database, self.writer)
        self._projections = projections
        self._states = States()

    def create_knowledge_base(self, slug: str, origin: Origin) -> UUID:
        """A new knowledge base, its creation being revision 1; gives its id."""
        kb_id = self.ids.new_id()
        self.catalogue.register(kb_id, slug)
        request = CommandRequest(
            kb_id=kb_id,
            caller=Caller(principal=origin.actor, grants=frozenset({"admin"})),
            command=CreateKnowledgeBase(slug=slug),
            origin=origin,
        )
        self.execute(request).result()
        return kb_id

    def execute(self, request: CommandRequest) -> Future[Outcome]:
        """Queues the command; the future holds its outcome once it is durable, or its refusal.

        Raises OverloadedError at once when too many commands wait.
        """
        return self.writer.submit(
            request.kb_id, lambda transaction: self._run(request, transaction)
        )

    def close(self) -> None:
        """Finishes what was accepted."""
        self.writer.close()

    # --- in the writer's thread, behind the head lock ---------------------------------------

    def _run(self, request: CommandRequest, transaction: WriteTransaction) -> Outcome:
        if request.claim is not None:
            stored = find_claim(transaction.connection, request.kb_id, request.claim)
            if stored is not None:
                return replayed(stored, transaction.head.revision)
        surroundings = self._surroundings(transaction)
        before = surroundings.state
        application = self.applications.of(request.kb_id)
        run = _Run(request, transaction, surroundings, application)
        try:
            with transaction.savepoint():
                outcome = run.perform()
                if request.dry_run:
                    raise _DryRunEnds(outcome)
        except _DryRunEnds as end:
            surroundings.state = before
            return end.outcome
        except IntegrityError as error:
            # The rules look before they decide, so this is the backstop alone.
            surroundings.state = before
            raise VersionConflictError("Another write won; read again and retry.") from error
        except BaseException:
            surroundings.state = before
            raise
        self._states.keep(transaction.head, surroundings.state)
        return outcome

    def _surroundings(self, transaction: WriteTransaction) -> Surroundings:
        if not isinstance(transaction.surroundings, Surroundings):
            transaction.surroundings = Surroundings(
                transaction, self._projections, self._states, self.ids
            )
        return transaction.surroundings


def replayed(stored: StoredClaim, head_revision: int) -> Outcome:
    """The first answer again; one that changed nothing is told at the head of today."""
    return Outcome(
        revision=head_revision if stored.revision is None else stored.revision,
        changed=stored.revision is not None,
        subjects=stored.subjects,
        replayed=True,
    )


class _DryRunEnds(Exception):
    """Leaves the savepoint of a dry run, so that all it wrote is undone."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


@contextmanager
def _named(index: int) -> Iterator[None]:
    """A refusal within a batch says which operation it is of."""
    try:
        yield
    except KBStoreError as refusal:
        refusal.details["operation"] = index
        if "field" in refusal.details:
            refusal.details["field"] = f"operations[{index}].{refusal.details['field']}"
        raise


class _Run:
    """One command on its way through the transaction, operation by operation."""

    def __init__(
        self,
        request: CommandRequest,
        transaction: WriteTransaction,
        surroundings: Surroundings,
        application: KnowledgeBaseApplication,
    ) -> None:
        self._request = request
        self._transaction = transaction
        self._surroundings = surroundings
        self._application = application
        self._commit: OpenCommit | None = None
        self._events: list[Event] = []
        self._subjects: list[Subject] = []
        self._last: tuple[Context, Decision] | None = None
        self._pages: set[UUID] = set()

    def perform(self) -> Outcome:
        command = self._request.command
        if isinstance(command, Batch):
            self._check_revision(command)
            for index, operation in enumerate(command.operations):
                with _named(index):
                    self._decide(operation, command.pages_max)
        else:
            self._decide(command)
        return self._finish()

    def _check_revision(self, batch: Batch) -> None:
        current = self._transaction.head.revision
        if batch.expected_revision is not None and batch.expected_revision != current:
            raise RevisionConflictError(
                f"The knowledge base is at revision {current}, not {batch.expected_revision}.",
                expectedRevision=batch.expected_revision,
                currentRevision=current,
            )

    def _decide(self, operation: Operation, pages_max: int | None = None) -> None:
        caller = self._request.caller
        previous = None if self._last is None else after(*self._last)
        context = self._surroundings.context(
            caller, operation, previous, named=self._request.scopes
        )
        decision = decide(operation, context)
        if pages_max is not None:
            self._count_pages(decision, pages_max)
        self._last = (context, decision)
        self._subjects.extend(decision.subjects)
        if not decision.events:
            return
        if self._commit is None:
            self._commit = self._transaction.begin_commit(self._request.origin)
        self._commit.append(decision.events, decision.texts, self._application.save_into)
        self._surroundings.follow(decision.events)
        self._events.extend(decision.events)

    def _count_pages(self, decision: Decision, pages_max: int) -> None:
        """The pages of a whole batch count, as those of one operation on a subtree do."""
        self._pages |= pages_changed(decision)
        if len(self._pages) > pages_max:
            raise TooManyPagesError(
                f"The operations of one commit change at most {pages_max} pages.",
                maximum=pages_max,
            )

    def _finish(self) -> Outcome:
        transaction, claim = self._transaction, self._request.claim
        subjects = tuple(self._subjects)
        committed = None if self._commit is None else self._commit.seal()
        revision = None if committed is None else committed.revision
        if claim is not None and not self._request.dry_run:
            stored = StoredClaim(revision, subjects)
            now = transaction.clock.now()
            store_claim(transaction.connection, transaction.kb_id, claim, stored, now)
            transaction.has_writes = True
        return Outcome(
            revision=transaction.head.revision if revision is None else revision,
            changed=committed is not None,
            subjects=subjects,
            events=tuple(self._events) if self._request.dry_run else (),
        )
