"""Two server processes on one PostgreSQL database: everything holds that holds in one, whether
they hear of each other's commits or only look for them."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle

import msgspec
import pytest

from tests.asking import Answer, Client, Page
from tests.backends import PostgresServer
from tests.knowledge import SCOPE, KnowledgeBase, fast_services
from tests.races.processes import Pair, server_processes
from tests.together import Together, racing

WRITERS = 20
ROUNDS = 100
SOAK_ROUNDS = 1_000
COUNTS = 12
SOAK_COUNTS = 200
TREE_ROUNDS = 8
SOAK_TREE_ROUNDS = 100
COPIES = 4
"""Of one request, to each process."""


@pytest.fixture(scope="module", params=[True, False], ids=["notices", "notices dropped"])
def made(
    request: pytest.FixtureRequest, postgres: PostgresServer
) -> Iterator[tuple[KnowledgeBase, list[str]]]:
    url = postgres.new_database()
    with (
        fast_services(url) as services,
        server_processes(url, 2, has_notices=request.param) as servers,
    ):
        yield KnowledgeBase(services), [served.url for served in servers]


@pytest.fixture
def pair(made: tuple[KnowledgeBase, list[str]]) -> Iterator[Pair]:
    """A knowledge base of the test's own."""
    first, urls = made
    pair = Pair(KnowledgeBase(first.services), urls)
    yield pair
    pair.close()


def rounds(few: int, many: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rounds", [few, pytest.param(many, marks=pytest.mark.soak)])


# --- one page -------------------------------------------------------------------------------


@rounds(ROUNDS, SOAK_ROUNDS)
def test_20_writers_on_one_page_one_winner_a_version(pair: Pair, rounds: int) -> None:
    clients = [pair.clients(f"agent:{writer}")[writer % 2] for writer in range(WRITERS)]
    page = clients[0].made("shared", body="nothing yet").id
    won: list[tuple[int, str]] = []
    texts: dict[int, str] = {}
    with racing(WRITERS) as together:
        for version in range(1, rounds + 1):
            # Another one is first in line each time.
            line = [(version + place) % WRITERS for place in range(WRITERS)]
            answers = together.run(
                [partial(_write, clients[writer], writer, page, version) for writer in line]
            )
            for writer, answer in zip(line, _answers(answers), strict=True):
                if answer.status < 300:
                    won.append((answer.revision, f"agent:{writer}"))
                    texts[answer.revision] = f"{version} by {writer}"
                else:
                    details = answer.refused(409, "VERSION_CONFLICT").details
                    assert details["expectedVersion"] == version
                    assert details["currentVersion"] == version + 1
            assert len(won) == version
    assert [event.version for event in pair.kb.events_of(page)] == list(range(1, rounds + 2))
    assert [(revision, pair.kb.actor_of(revision)) for revision, _ in won] == won
    for (revision, text), client in zip(texts.items(), cycle(clients), strict=False):
        shown = client.page(page, revision=revision)
        assert text in (shown.body, shown.description, shown.key)
    pair.check_log()


def _write(client: Client, writer: int, page: str, version: int) -> Answer:
    words = f"{version} by {writer}"
    # Both kinds of process do every kind of write.
    match writer // 2 % 4:
        case 0:
            return client.edit(page, version, body=words)
        case 1:
            return client.edit(page, version, description=words)
        case 2:
            return client.move(page, version, key=words)
        case _:
            operation = {"op": "edit", "page": page, "expectedVersion": version, "body": words}
            return client.commit(operation)


@rounds(COUNTS, SOAK_COUNTS)
def test_no_update_is_lost(pair: Pair, rounds: int) -> None:
    """Each counts one up from what it reads, as often as it takes; what it wrote shows at once
    in the other process."""
    one, other = pair.clients()
    page = one.made("counter", body="0").id

    def count_up(writer: int, here: Client, there: Client) -> None:
        for _ in range(rounds):
            while True:
                shown = here.page(page)
                # Whoever sends what is there already changes nothing, and is told so.
                body = f"{_counted(shown) + 1} by {writer}"
                answer = here.edit(page, shown.version, body=body)
                if answer.status == 200:
                    assert answer.written.changed
                    break
                answer.refused(409, "VERSION_CONFLICT")
            part = there.ask("GET", f"/pages/{page}", minRevision=answer.revision)
            seen = part.json["revision"]
            assert isinstance(seen, int)
            assert seen >= answer.revision
            assert there.page(page).version >= answer.page.version

    with ThreadPoolExecutor(8) as threads:
        counting = [
            threads.submit(count_up, writer, *((one, other) if writer % 2 else (other, one)))
            for writer in range(8)
        ]
        for counted in counting:
            counted.result()
    shown = one.page(page)
    assert other.page(page) == shown
    assert _counted(shown) == 8 * rounds
    assert shown.version == 8 * rounds + 1
    pair.check_log()


def _counted(page: Page) -> int:
    assert page.body is not None
    return int(page.body.split()[0])


# --- reads ----------------------------------------------------------------------------------


def test_a_read_waits_for_a_commit_of_the_other_process(pair: Pair) -> None:
    one, other = pair.clients()
    page = one.made("page", body="0").id
    with ThreadPoolExecutor(1) as threads:
        for version, (here, there) in zip(range(1, 11), cycle([(one, other), (other, one)])):
            revision = pair.kb.revision + 1
            waiting = threads.submit(there.ask, "GET", f"/pages/{page}", minRevision=revision)
            assert here.edit(page, version, body=str(version)).revision == revision
            answer = waiting.result()
            assert answer.json["revision"] == revision
            assert msgspec.json.decode(answer.raw)["page"]["body"] == str(version)


# --- the tree -------------------------------------------------------------------------------


@rounds(TREE_ROUNDS, SOAK_TREE_ROUNDS)
@pytest.mark.parametrize("length", [2, 3])
def test_racing_moves_never_make_a_cycle(pair: Pair, length: int, rounds: int) -> None:
    clients = pair.clients()
    pages = [clients[0].made(f"p{number}").id for number in range(length)]
    below = [clients[1].made("below", parent=page).id for page in pages]
    with racing(length) as together:
        for number in range(rounds):
            ring = [
                partial(
                    clients[(number + place) % 2].move, page, parent=below[(place + 1) % length]
                )
                for place, page in enumerate(pages)
            ]
            answers = _answers(together.run(ring))
            assert _codes(answers) == [*[""] * (length - 1), "WOULD_CREATE_CYCLE"]
            pair.kb.check_tree()
            for page in pages:
                assert clients[number % 2].move(page, parent=None).status == 200
    pair.check_log()


@rounds(TREE_ROUNDS, SOAK_TREE_ROUNDS)
def test_racing_creates_of_one_key(pair: Pair, rounds: int) -> None:
    clients = pair.clients()
    spellings = ("café", "cafe\u0301", "CAFÉ", "Cafe\u0301")
    with racing(2 * len(spellings)) as together:
        for number in range(rounds):
            answers = _answers(
                together.run(
                    [
                        partial(client.create, f"{spelling}{number}")
                        for spelling in spellings
                        for client in clients
                    ]
                )
            )
            assert _codes(answers) == ["", *["KEY_TAKEN"] * (2 * len(spellings) - 1)]
            (made,) = (answer.page.id for answer in answers if answer.status < 300)
            taken = {a.refusal.details["pageId"] for a in answers if a.status >= 300}
            assert taken == {made}, "a refusal names the page that has the key"
    pair.check_log()


@rounds(TREE_ROUNDS, SOAK_TREE_ROUNDS)
def test_racing_merges(pair: Pair, rounds: int) -> None:
    """One page into four others; then p into q, q into r and r into p."""
    clients = pair.clients()
    with racing(4) as together:
        for number in range(rounds):
            page = clients[0].made(f"page{number}").id
            child = clients[1].made("child", parent=page).id
            targets = [clients[0].made(f"t{number}-{place}").id for place in range(4)]
            answers = _merged(together, clients, [(page, into) for into in targets])
            assert _codes(answers) == ["", *["NOT_FOUND"] * 3]
            (winner,) = (i for i, answer in enumerate(answers) if answer.status < 300)
            assert pair.kb.tree()[child].parent == targets[winner]
            for answer in answers:
                if answer.status >= 300:
                    assert answer.refusal.details["mergedInto"] == targets[winner]
            ring = [clients[1].made(f"ring{number}-{place}").id for place in range(3)]
            answers = _merged(together, clients, list(zip(ring, [*ring[1:], ring[0]], strict=True)))
            alive = [page for page in ring if page in pair.kb.tree()]
            assert len(alive) == 3 - _codes(answers).count("") >= 1
            assert set(_codes(answers)) == {"", "NOT_FOUND"}
    pair.check_log()


def _merged(
    together: Together, clients: Sequence[Client], merges: list[tuple[str, str]]
) -> list[Answer]:
    sending = [
        partial(clients[place % 2].merge, page, into) for place, (page, into) in enumerate(merges)
    ]
    return _answers(together.run(sending))


# --- one request, several times -------------------------------------------------------------


@rounds(TREE_ROUNDS, SOAK_TREE_ROUNDS)
@pytest.mark.parametrize(
    "kind", ["create", "edit", "same", "move", "delete", "merge", "restore", "commit"]
)
def test_one_request_sent_to_both_has_one_effect_and_one_answer(
    pair: Pair, kind: str, rounds: int
) -> None:
    clients = pair.clients()
    into = clients[0].made("into").id
    with racing(2 * COPIES) as together:
        for number in range(rounds):
            page = clients[number % 2].made(f"p{number}", body="old").id
            if kind == "restore":
                assert clients[0].delete(page).status == 200
            before = pair.kb.revision
            sending = [
                partial(_send, client, kind, page, into, f"{kind}-{number}") for client in clients
            ]
            answers = _answers(together.run(sending * COPIES))
            assert {answer.status // 100 for answer in answers} == {2}, answers
            assert len({(answer.status, answer.raw) for answer in answers}) == 1, answers
            replayed = [a for a in answers if a.headers.get("idempotency-replayed") == "true"]
            assert len(replayed) == 2 * COPIES - 1
            assert pair.kb.revision == before + (kind != "same")
    pair.check_log()


def _send(client: Client, kind: str, page: str, into: str, key: str) -> Answer:
    match kind:
        case "create":
            return client.create(idempotency=key, body="twice?")
        case "edit":
            return client.ask("PATCH", f"/pages/{page}", {"body": "new"}, match=1, key=key)
        case "same":
            return client.ask("PATCH", f"/pages/{page}", {"body": "old"}, match=1, key=key)
        case "move":
            return client.ask("POST", f"/pages/{page}/move", {"key": key}, match=1, key=key)
        case "delete":
            return client.ask("DELETE", f"/pages/{page}", match=1, key=key)
        case "merge":
            return client.ask("POST", f"/pages/{page}/merge", {"into": into}, match="*", key=key)
        case "restore":
            return client.ask("POST", f"/pages/{page}/restore", {}, match="*", key=key)
        case _:
            operation = {"op": "create", "scope": SCOPE, "name": "Made"}
            return client.ask("POST", "/commits", {"operations": [operation]}, key=key)


def _answers(answers: Sequence[object]) -> list[Answer]:
    found = [answer for answer in answers if isinstance(answer, Answer)]
    assert len(found) == len(answers)
    return found


def _codes(answers: Sequence[Answer]) -> list[str]:
    """The code of each answer, "" for a success."""
    return sorted("" if answer.status < 300 else answer.refusal.code for answer in answers)
