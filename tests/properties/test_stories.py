"""Random stories over all commands: three who write, each with other scopes, and an auditor.

Every command goes through the command service into a real database. What holds is said in
`checking` and `sightings`; the model it is held against is built from the log alone.
"""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from api.wiring import Services
from kbstore.access import Caller
from kbstore.domain.commands import (
    Batch,
    Command,
    Configure,
    CreatePage,
    EditPage,
    PageOperation,
)
from kbstore.domain.events import EVENT_TYPES
from kbstore.errors import IdempotencyKeyReusedError, KBStoreError, VersionConflictError
from kbstore.service import Outcome
from kbstore.store.idempotency import Claim
from tests.backends import on_postgresql, on_sqlite
from tests.knowledge import fast_services
from tests.properties.checking import (
    Memory,
    check_lists,
    check_replay,
    check_secrets,
    check_tables,
    check_tree,
)
from tests.properties.commands import MAKERS, configure, create
from tests.properties.drawing import Draw
from tests.properties.house import ANA, BEN, CARA, READERS, SCOPES, WRITERS
from tests.properties.planned import plan
from tests.properties.world import World

BATCH_OPERATIONS_MAX = 5
OLD_REVISIONS_LOOKED_AT = 3
LISTS_WALKED = 3
USUAL_REFUSALS = ("NOT_FOUND", "VALIDATION_ERROR", "VERSION_CONFLICT", "ROLE_TOO_WEAK", "KEY_TAKEN")
STORIES = 35
FEW_STORIES = 3
ROUNDS_MAX = 4
"""A round's stories are drawn at random: what was not in them comes in the next ones."""
seeds = st.integers(0, 2**32 - 1)
Sent = tuple[Caller, Command, Claim, Outcome]


class Stories(RuleBasedStateMachine):
    """One story. `accepted` and `refused` count over all stories of a run."""

    services: ClassVar[Services]
    accepted: ClassVar[Counter[str]] = Counter()
    refused: ClassVar[Counter[str]] = Counter()
    topics: ClassVar[Counter[str]] = Counter()

    world: World

    @initialize()
    def begin(self) -> None:
        """A first page in each scope, so that no story starts with nothing to do."""
        self.world = World(self.services)
        self.memory = Memory()
        self.sent: list[Sent] = []
        self.turn = 0
        self.memory.remember(self.world)
        for scope in SCOPES:
            name = self.world.text(f"Page {self.world.word()}")
            self._run(ANA, CreatePage(scope=scope, key="start", name=name))

    # --- steps ----------------------------------------------------------------------------------

    @rule(seed=seeds)
    def one(self, seed: int) -> None:
        draw = self._draw(seed)
        caller = draw.pick(WRITERS)
        self._run(caller, draw.pick(MAKERS)(self.world, draw, caller, ()))

    # Rules are chosen evenly, and most of a story should be plain commands.
    @rule(seed=seeds)
    def another(self, seed: int) -> None:
        self.one(seed)

    @rule(seed=seeds)
    def a_third(self, seed: int) -> None:
        self.one(seed)

    @rule(seed=seeds)
    def several(self, seed: int) -> None:
        draw = self._draw(seed)
        caller = draw.pick(WRITERS)
        self._run(caller, self._batch(draw, caller))

    @rule(seed=seeds)
    def try_out(self, seed: int) -> None:
        """A dry run writes nothing and tells what the real run then does."""
        draw = self._draw(seed)
        caller = draw.pick(WRITERS)
        command: Command = draw.pick(MAKERS)(self.world, draw, caller, ())
        if draw.chance(50):
            command = self._batch(draw, caller)
        known = {event.originator_id for event in self.world.model.events}
        position = len(self.world.model.events)
        tried = self.world.run(caller, command, dry_run=True)
        real = self._run(caller, command)
        if isinstance(tried, KBStoreError):
            assert isinstance(real, KBStoreError)
            assert tried.code == real.code
            return
        assert isinstance(real, Outcome)
        assert (tried.changed, tried.revision) == (real.changed, real.revision)
        written = self.world.model.events[position:]
        assert plan(tried.events, known) == plan(written, known)

    @rule(seed=seeds)
    def with_a_key(self, seed: int) -> None:
        """A command with an Idempotency-Key, now and then one that was sent before."""
        draw = self._draw(seed)
        if self.sent and draw.chance(40):
            self._send_again(*draw.pick(self.sent))
            return
        caller = draw.pick(WRITERS)
        command = draw.pick(MAKERS)(self.world, draw, caller, ())
        claim = self.world.claim(caller)
        outcome = self._run(caller, command, claim)
        if isinstance(outcome, Outcome):
            self.sent.append((caller, command, claim, outcome))
            if draw.chance(50):
                self._send_again(*self.sent[-1])

    @rule(seed=seeds)
    def look_around(self, seed: int) -> None:
        draw = self._draw(seed)
        match draw.number(0, 5):
            case 0:
                reader = draw.pick(READERS)
                check_secrets(self.world, reader, draw.number(1, self.world.revision))
            case 1:
                check_replay(self.world)
            case 2 | 3:
                self._run(ANA if draw.chance(90) else BEN, configure(self.world, draw))
            case _:
                check_lists(self.world, draw)

    # --- what holds -----------------------------------------------------------------------------

    @invariant()
    def tables_are_the_model(self) -> None:
        check_tables(self.world)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        check_tree(self.world)
        for reader in READERS:
            check_secrets(self.world, reader, self.world.revision)
        draw = self._draw(self.world.revision)
        for reader in (BEN, CARA):
            for _ in range(OLD_REVISIONS_LOOKED_AT):
                check_secrets(self.world, reader, draw.number(1, self.world.revision))
        for _ in range(LISTS_WALKED):
            check_lists(self.world, draw)
        self.memory.check(self.world)
        check_replay(self.world)
        type(self).topics.update(event.topic for event in self.world.model.events)

    # --- running --------------------------------------------------------------------------------

    def _run(
        self, caller: Caller, command: Command, claim: Claim | None = None
    ) -> Outcome | KBStoreError:
        note(f"{caller.principal}: {command}")
        stale = self._is_stale(command)
        outcome = self.world.run(caller, command, claim=claim)
        kind = type(command).__name__
        if isinstance(outcome, KBStoreError):
            self.refused[outcome.code] += 1
            if isinstance(outcome, VersionConflictError):
                assert stale or isinstance(command, Batch | Configure) or _second_version(command)
            return outcome
        self.accepted[f"{kind} changed" if outcome.changed else f"{kind} changed nothing"] += 1
        assert not (stale and outcome.changed), "a stale version was written over"
        self.memory.remember(self.world)
        return outcome

    def _send_again(self, caller: Caller, command: Command, claim: Claim, first: Outcome) -> None:
        again = self.world.run(caller, command, claim=claim)
        assert isinstance(again, Outcome)
        assert again.replayed
        assert (again.subjects, again.changed) == (first.subjects, first.changed)
        assert again.revision == (first.revision if first.changed else self.world.revision)
        other = msgspec.structs.replace(claim, request_sha256=bytes(32))
        refusal = self.world.run(caller, command, claim=other)
        assert isinstance(refusal, IdempotencyKeyReusedError)

    def _is_stale(self, command: Command) -> bool:
        """Whether a single command expects another version than its page has."""
        page_id = getattr(command, "page", None)
        expected = getattr(command, "expected_version", None)
        if page_id is None or not isinstance(expected, int):
            return False
        page = self.world.model.page(page_id)
        return expected != (0 if page is None else page.version)

    def _draw(self, seed: int) -> Draw:
        self.turn += 1
        return Draw(seed, self.turn)

    def _batch(self, draw: Draw, caller: Caller) -> Batch:
        draw.is_careful = draw.chance(80)
        operations: list[PageOperation] = []
        places: list[str] = []
        for number in range(draw.number(1, BATCH_OPERATIONS_MAX)):
            make = create if draw.chance(30) else draw.pick(MAKERS)
            operation = make(self.world, draw, caller, places)
            if isinstance(operation, CreatePage):
                places.append(f"${number}")
            operations.append(operation)
        revision = self.world.revision
        draw.is_careful = False
        expected = revision - draw.number(0, 1) if draw.odd(20) else None
        return Batch(operations=tuple(operations), expected_revision=expected)


def _second_version(command: Command) -> bool:
    """Whether a command expects a version of another page too, or counts lines of none."""
    if isinstance(command, EditPage):
        return command.range is not None
    return getattr(command, "into_version", None) is not None


@pytest.fixture
def services(database_url: str) -> Iterator[Services]:
    with fast_services(database_url) as services:
        yield services


def tell(services: Services, stories: int, steps: int) -> type[Stories]:
    """Runs that many stories; gives what they were about."""

    class Run(Stories):
        accepted: ClassVar[Counter[str]] = Counter()
        refused: ClassVar[Counter[str]] = Counter()
        topics: ClassVar[Counter[str]] = Counter()

    Run.services = services
    for _ in range(ROUNDS_MAX):
        run_state_machine_as_test(
            Run,
            settings=settings(
                max_examples=stories,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        if stories < STORIES or not missing(Run):
            break
    return Run


def missing(told: type[Stories]) -> set[str]:
    """The kinds of events and of refusals that never came."""
    kinds = {kind.topic for kind in EVENT_TYPES}
    return (kinds - set(told.topics)) | (set(USUAL_REFUSALS) - set(told.refused))


@on_sqlite
def test_stories(services: Services) -> None:
    assert not missing(tell(services, STORIES, steps=40))


@on_postgresql
def test_some_stories_on_postgresql(services: Services) -> None:
    """Each of the many questions waits for a server, so here are fewer."""
    told = tell(services, FEW_STORIES, steps=40)
    assert len(told.topics) > len(EVENT_TYPES) / 2


@pytest.mark.soak
def test_many_long_stories(services: Services) -> None:
    assert not missing(tell(services, stories=600, steps=120))
