"""Checking the log: every commit and event is in its place and as it was written."""

from collections.abc import Iterable, Iterator

from eventsourcing.persistence import MapperDeserialisationError

from kbstore.domain.events import Event, KnowledgeBaseConfigured
from kbstore.errors import StoreError
from kbstore.limits import REVISION_MAX
from kbstore.store.commits import GENESIS_DIGEST, Commit, Head, commit_digest, event_hash
from kbstore.store.connection import Connection
from projections.log import LoggedEvent, read_commits, read_events
from projections.progress import Progress
from projections.verify_report import Failures

_PROGRESS_COMMITS = 1_000


class LogCheck:
    """Walks the commits and their events once, with the chain of digests.

    After a failure the walk goes on from what is stored, so that one damage is one failure or
    two and not one for everything behind it.
    """

    def __init__(
        self, connection: Connection, head: Head, failures: Failures, progress: Progress
    ) -> None:
        self._connection = connection
        self._head = head
        self._failures = failures
        self._progress = progress
        self._revision = 0
        self._position = 0
        self._committed_at = 0
        self._digest = GENESIS_DIGEST
        self._configured_at = 0
        self.events = 0

    def walk(self) -> Iterator[tuple[int, Event]]:
        """Every event that can be read, with its position; all is checked once this ends."""
        kb_id = self._head.kb_id
        # One past the head as well: nothing may stand there.
        stored = _Lookahead(read_events(self._connection, kb_id, 0, REVISION_MAX))
        for commit in read_commits(self._connection, kb_id, 0, REVISION_MAX):
            self._check_place(commit)
            yield from self._check_events(commit, stored)
            if commit.revision % _PROGRESS_COMMITS == 0:
                self._progress(commit.revision, self._head.revision)
        for event in stored.rest():
            self._fail("no commit holds this event", _position(event.position))
        self._check_head()

    def _check_place(self, commit: Commit) -> None:
        where = f"revision {commit.revision}"
        if commit.revision != self._revision + 1:
            self._fail(f"revision {self._revision + 1} is missing before it", where)
        if commit.first_position != self._position + 1:
            self._fail(f"its events do not begin at position {self._position + 1}", where)
        if commit.event_count < 1:
            self._fail("the commit holds no event", where)
        if commit.committed_at < self._committed_at:
            self._fail("the commit is older than the one before it", where)

    def _check_events(self, commit: Commit, stored: "_Lookahead") -> Iterator[tuple[int, Event]]:
        end = commit.first_position + commit.event_count
        expected = commit.first_position
        hashes: list[bytes] = []
        for event in stored.below(end):
            if event.position < expected:
                self._fail("no commit holds this event", _position(event.position))
                continue
            self._expect(expected, event.position)
            expected = event.position + 1
            self.events += 1
            hashes.append(
                event_hash(
                    event.position,
                    event.originator_id,
                    event.originator_version,
                    event.topic,
                    event.payload,
                )
            )
            yield from self._decoded(event, commit.revision)
        self._expect(expected, end)
        if commit_digest(self._digest, commit, b"".join(hashes)) != commit.digest:
            self._fail(
                "the digest does not match the commit and its events",
                f"revision {commit.revision}, positions {commit.first_position} to {end - 1}",
            )
        self._revision, self._position = commit.revision, end - 1
        self._committed_at, self._digest = commit.committed_at, commit.digest

    def _expect(self, position: int, found: int) -> None:
        """Fails when positions from the first up to the second are missing."""
        if position < found:
            self._fail("no event stands there", f"positions {position} to {found - 1}")

    def _decoded(self, logged: LoggedEvent, revision: int) -> Iterable[tuple[int, Event]]:
        if logged.topic == KnowledgeBaseConfigured.topic:
            self._configured_at = revision
        try:
            return [(logged.position, logged.decode())]
        except (StoreError, MapperDeserialisationError) as error:
            self._fail(f"the event cannot be read: {error}", _position(logged.position))
            return []

    def _check_head(self) -> None:
        head = self._head
        found = {
            "revision": (head.revision, self._revision),
            "position": (head.position, self._position),
            "committed_at": (head.committed_at, self._committed_at),
            "digest": (head.digest.hex(), self._digest.hex()),
            "configured_at": (head.configured_at, self._configured_at),
        }
        for name, (said, last) in found.items():
            if said != last:
                self._fail(f"{name} is {said}, but the last commit leaves {last}", "head")

    def _fail(self, what: str, where: str) -> None:
        self._failures.add(what, where)


class _Lookahead:
    """Hands out events up to a position and keeps the one behind it."""

    def __init__(self, events: Iterator[LoggedEvent]) -> None:
        self._events = events
        self._next = next(events, None)

    def below(self, end: int) -> Iterator[LoggedEvent]:
        while self._next is not None and self._next.position < end:
            event, self._next = self._next, next(self._events, None)
            yield event

    def rest(self) -> Iterator[LoggedEvent]:
        while self._next is not None:
            event, self._next = self._next, next(self._events, None)
            yield event


def _position(position: int) -> str:
    return f"position {position}"
