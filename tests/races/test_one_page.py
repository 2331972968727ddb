"""Many writers on one page: one winner a version, and a log that says what the answers said."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from api.wiring import open_services
from kbstore.access import Caller
from kbstore.domain.commands import Batch, Command, CreatePage, EditPage, MovePage
from kbstore.domain.events import ReplacedRange
from kbstore.errors import VersionConflictError
from kbstore.service import Outcome
from projections.read.pages import page as read_page
from projections.snapshot import open_snapshot
from tests.asking import Answer, Ask, Client
from tests.knowledge import SCOPE, KnowledgeBase
from tests.together import racing, winners

WRITERS = 20
ROUNDS = 200
HTTP_WRITERS = 8
HTTP_ROUNDS = 25

Make = Callable[[KnowledgeBase, UUID, int, str], Command]


def body(kb: KnowledgeBase, page: UUID, version: int, words: str) -> Command:
    return EditPage(page=page, expected_version=version, body=kb.body(words))


def name(kb: KnowledgeBase, page: UUID, version: int, words: str) -> Command:
    return EditPage(page=page, expected_version=version, name=kb.text(words))


def part_of_body(kb: KnowledgeBase, page: UUID, version: int, words: str) -> Command:
    return EditPage(
        page=page, expected_version=version, body=kb.body(words), range=ReplacedRange(1, 1)
    )


def key(kb: KnowledgeBase, page: UUID, version: int, words: str) -> Command:
    return MovePage(page=page, expected_version=version, key=words)


def several(kb: KnowledgeBase, page: UUID, version: int, words: str) -> Command:
    """A commit whose first operation anybody may do, and whose second only the winner."""
    made = CreatePage(scope=SCOPE, name=kb.text(words))
    return Batch(
        operations=(made, EditPage(page=page, expected_version=version, body=kb.body(words)))
    )


KINDS: tuple[Make, ...] = (body, name, part_of_body, key, several)


def test_20_writers_200_rounds_one_winner_a_version(kb: KnowledgeBase) -> None:
    page = kb.run(CreatePage(scope=SCOPE, name=kb.text("Shared"))).subjects[0].id
    won: list[tuple[int, str]] = []
    with racing(WRITERS) as together:
        for version in range(1, ROUNDS + 1):
            # Another one is first in line each time, so that every kind of write wins some.
            writers = [(version + place) % WRITERS for place in range(WRITERS)]
            outcomes = together.run(
                [partial(_write, kb, page, version, writer) for writer in writers]
            )
            assert [outcome.changed for outcome in winners(outcomes)] == [True]
            for writer, outcome in zip(writers, outcomes, strict=True):
                if isinstance(outcome, Outcome):
                    won.append((outcome.revision, f"agent:{writer}"))
                else:
                    assert isinstance(outcome, VersionConflictError)
                    assert outcome.details["currentVersion"] == version + 1
    log = kb.events_of(page)
    assert [event.version for event in log] == list(range(1, ROUNDS + 2))
    assert [(revision, kb.actor_of(revision)) for revision, _ in won] == won
    assert [event.position for event in kb.log()] == list(range(1, len(kb.log()) + 1))
    # A refused commit of several leaves none of them: each page beside it was made by a winner.
    assert len(kb.tree()) - 2 == sum(
        int(writer.split(":")[1]) % len(KINDS) == 4 for _, writer in won
    )
    kb.check_tree()


def _write(kb: KnowledgeBase, page: UUID, version: int, writer: int) -> Outcome:
    make = KINDS[writer % len(KINDS)]
    return kb.run(make(kb, page, version, f"{version} by {writer}"), f"agent:{writer}")


def test_every_version_holds_what_its_winner_wrote(kb: KnowledgeBase) -> None:
    page = kb.run(CreatePage(scope=SCOPE, name=kb.text("Shared"))).subjects[0].id
    written: dict[int, str] = {}
    with racing(WRITERS) as together:
        for version in range(1, 21):
            texts = [f"{version} by {writer}" for writer in range(WRITERS)]
            outcomes = together.run(
                [partial(kb.run, body(kb, page, version, text)) for text in texts]
            )
            (winner,) = winners(outcomes)
            written[winner.revision] = texts[outcomes.index(winner)]
    ana = Caller(principal="user:ana", held=frozenset({SCOPE}))
    connection = kb.services.database.reader()
    with connection.reading():
        for revision, text in written.items():
            snapshot = open_snapshot(connection, kb.id, ana, revision)
            assert read_page(snapshot, page).body == text


def test_writers_of_two_services_on_one_database(kb: KnowledgeBase) -> None:
    """The command line writes to a file that a server has open, and a PostgreSQL database may
    have several servers: each sees what the other did."""
    page = kb.run(CreatePage(scope=SCOPE, name=kb.text("Shared"))).subjects[0].id
    with open_services(kb.services.database.url) as others, racing(8) as together:
        other = KnowledgeBase.opened(others, kb)
        for version in range(1, 31):
            outcomes = together.run(
                [
                    partial(_write, (kb, other)[writer % 2], page, version, writer)
                    for writer in range(8)
                ]
            )
            assert len(winners(outcomes)) == 1
    assert [event.version for event in kb.events_of(page)] == list(range(1, 32))
    kb.check_tree()


def test_over_http(kb: KnowledgeBase, asking: Ask) -> None:
    clients = [asking(f"agent:{writer}") for writer in range(HTTP_WRITERS)]
    page = clients[0].made("shared", body="nothing yet")
    won: list[tuple[int, str]] = []
    with racing(HTTP_WRITERS) as together:
        for version in range(1, HTTP_ROUNDS + 1):
            answers = together.run(
                [
                    partial(_send, client, writer, page.id, version)
                    for writer, client in enumerate(clients)
                ]
            )
            for writer, answer in enumerate(answers):
                assert isinstance(answer, Answer)
                if answer.status < 300:
                    won.append((answer.revision, f"agent:{writer}"))
                else:
                    details = answer.refused(409, "VERSION_CONFLICT").details
                    assert details["expectedVersion"] == version
                    assert details["currentVersion"] == version + 1
            assert len(won) == version
    assert [event.version for event in kb.events_of(page.id)] == list(range(1, HTTP_ROUNDS + 2))
    assert [(revision, kb.actor_of(revision)) for revision, _ in won] == won
    seen = [event.version for event in clients[0].events(pageId=page.id)]
    assert seen == list(range(1, HTTP_ROUNDS + 2))


def _send(client: Client, writer: int, page: str, version: int) -> Answer:
    words = f"{version} by {writer}"
    match writer % 4:
        case 0:
            return client.edit(page, version, body=words)
        case 1:
            return client.edit(page, version, description=words)
        case 2:
            return client.move(page, version, key=words)
        case _:
            operation = {"op": "edit", "page": page, "expectedVersion": version, "body": words}
            return client.commit(operation)
