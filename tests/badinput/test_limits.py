"""Every limit that a request can reach, at its value and one above it.

At its value the request is answered as always; one above it is refused, nothing is written, and
the field is named.
"""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pytest

from kbstore import limits
from kbstore.access import dump_configuration, load_configuration
from tests.asking import Answer, Client
from tests.http.world import Json
from tests.knowledge import CONFIGURATION, SCOPE, KnowledgeBase

Ask = Callable[[Client, int], Answer]
"""Sends a request in which the limited thing has this size."""

REFUSALS = {
    "VALIDATION_ERROR": 422,
    "NESTING_TOO_DEEP": 422,
    "TOO_MANY_PAGES": 422,
    "CONFIGURATION_INVALID": 422,
}
ELSEWHERE = {
    "SLUG_CODE_POINTS_MAX": "the command line",
    "PRINCIPAL_CODE_POINTS_MAX": "the command line",
    "IMPORT_OPERATIONS_PER_LINE_MAX": "imports",
    "IMPORT_PAGES_PER_LINE_MAX": "imports",
    "IMPORT_LINE_BYTES_MAX": "imports",
    "IMPORT_INFLATED_BYTES_MAX": "imports",
    "NOTES_PER_MERGE_MAX": "tests/unit/domain/test_merging.py",
    "IDEMPOTENCY_KEPT_HOURS_MIN": "time",
    "IDEMPOTENCY_WAIT_SECONDS_MAX": "time; tests/http/test_idempotency.py",
    "MIN_REVISION_WAIT_SECONDS_MAX": "time; tests/http",
    "REQUEST_BODY_SECONDS_MAX": "time; test_wire.py",
    "REQUEST_BYTES_MAX": "test_wire.py",
    "JSON_NESTING_LEVELS_MAX": "test_bodies.py",
    "REVISION_MAX": "test_parameters.py",
    "LIST_ITEMS_MAX": "test_parameters.py",
    "CURSOR_CHARACTERS_MAX": "test_cursors.py",
    "READ_TOKENS_DEFAULT": "tests/unit/text/test_windows.py",
    "READ_TOKENS_MIN": "tests/unit/access/test_refusals.py",
    "READ_TOKENS_MAX": "tests/unit/access/test_refusals.py",
    "NOTE_LIST_TOKENS_MAX": "tests/tools/test_knowledge_read_notes.py",
    "LIST_TOKENS_MAX": "tests/tools/test_knowledge_list.py",
    "OUTLINE_TOKENS_MAX": "tests/tools/test_knowledge_read.py",
    "TOOL_TEXT_CHARACTERS_MAX": "tests/tools/test_knowledge_search.py",
    "MATCH_TERMS_MAX": "tests/tools/test_knowledge_read_parts.py",
    "MATCH_CONTEXT_LINES_MAX": "tests/tools/test_knowledge_read_parts.py",
    "PINNED_TOKENS_DEFAULT": "tests/tools/test_context.py",
    "PINNED_TOKENS_MAX": "tests/unit/access/test_refusals.py",
    "PINNED_PAGES_DEFAULT": "tests/tools/test_context.py",
    "PINNED_PAGES_MAX": "tests/unit/access/test_refusals.py",
    "PINNED_LISTING_PAGES_MAX": "tests/tools/test_context.py",
    "SEARCH_WORDS_MAX": "tests/tools/test_knowledge_search.py",
    "SEARCH_SECONDS_MAX": "time; tests/unit/projections/lexical",
    "WRITER_QUEUE_COMMANDS_MAX": "the writer",
    "WRITER_BATCH_COMMANDS_MAX": "the writer",
    "WRITER_BATCH_TAKE_SECONDS_MAX": "the writer",
    "WRITER_LINGER_SECONDS_MAX": "the writer",
    "DATABASE_BUSY_SECONDS_MAX": "the writer",
    "REPLICA_WAIT_SECONDS_MAX": "time; tests/http/test_replica.py",
    "STREAMS_MAX": "tests/http/test_stream.py",
    "STREAM_HEARTBEAT_SECONDS": "tests/http/test_stream.py",
    "STREAM_READS_MAX": "tests/http/test_stream.py",
    "STREAM_SEND_SECONDS_MAX": "tests/http/test_stream.py",
    "WRITER_ATTEMPTS_MAX": "the writer",
    "WRITER_OUTCOME_SECONDS_MAX": "the writer",
    "DATABASE_CONNECT_SECONDS_MAX": "the writer",
    "PACE_FILE_SECONDS_MAX": "rebuilding",
    "PACE_FILE_PAUSE_SECONDS": "rebuilding",
    "PACE_SERVER_SECONDS_MAX": "rebuilding",
    "REBUILD_REST_EVENTS_MAX": "tests/unit/projections/test_live_rebuild.py",
    "REBUILD_LAST_REST_EVENTS_MAX": "tests/unit/projections/test_live_rebuild.py",
    "REBUILD_PASSES_MAX": "tests/unit/projections/test_live_rebuild.py",
    "WEBHOOKS_MAX": "tests/http/test_webhooks.py",
    "WEBHOOK_URL_CHARACTERS_MAX": "tests/http/test_webhooks.py",
    "WEBHOOK_DEAD_LETTERS_MAX": "tests/http/test_webhook_servers.py",
    "WEBHOOK_ATTEMPTS_MAX": "tests/unit/api/webhooks/test_settling.py",
    "WEBHOOK_BACKOFF_SECONDS_MIN": "tests/unit/api/webhooks/test_backoff.py",
    "WEBHOOK_BACKOFF_SECONDS_MAX": "tests/unit/api/webhooks/test_backoff.py",
    "WEBHOOK_CONNECT_SECONDS_MAX": "time; tests/unit/api/webhooks/test_network.py",
    "WEBHOOK_ANSWER_SECONDS_MAX": "time; tests/unit/api/webhooks/test_sending.py",
    "WEBHOOK_ANSWER_BYTES_MAX": "tests/unit/api/webhooks/test_sending.py",
    "WEBHOOK_DELIVERIES_MAX": "tests/http/test_webhook_servers.py",
    "WEBHOOK_LEASE_SECONDS": "time; tests/http/test_webhook_servers.py",
}
"""Limits that no request of this file reaches, and what tries them."""


@pytest.fixture
def kb(services: object, stock: Json) -> KnowledgeBase:
    return KnowledgeBase(stock.kb.services)


@pytest.fixture
def client(kb: KnowledgeBase, url: str) -> Iterator[Client]:
    held = (SCOPE, *(f"org:n{n}" for n in range(limits.HELD_SCOPES_MAX - 1)))
    client = Client(url, kb.slug, kb.token("user:root", held, ("admin", "auditor")))
    yield client
    client.close()


def made(client: Client, **fields: object) -> Answer:
    return client.ask("POST", "/pages", {"scope": SCOPE, "name": "x", **fields})


def note(client: Client, **fields: object) -> Answer:
    page = client.made().id
    return client.ask("POST", f"/pages/{page}/notes", {"text": "A", "scope": [SCOPE], **fields})


def pin(client: Client, **fields: object) -> Answer:
    page = client.made().id
    return client.ask("PUT", f"/pages/{page}/pins/list", {"audience": [SCOPE], **fields})


def teams(count: int) -> list[str]:
    return [f"team:acme:n{n}" for n in range(count)]


def header(client: Client, size: int, name: str) -> Answer:
    body = {"scope": SCOPE, "name": "x"}
    return client.ask("POST", "/pages", body, headers={name: "a" * size})


def nested(client: Client, levels: int) -> Answer:
    parent: dict[str, str] = {}
    for _ in range(levels - 1):
        parent = {"parent": client.made(**parent).id}
    return made(client, **parent)


def deleted(client: Client, pages: int) -> Answer:
    """Deletes a page with all below it, `pages` in all."""
    top = client.made().id
    operations = [{"op": "create", "scope": SCOPE, "name": "x", "parent": top}] * (pages - 1)
    for start in range(0, len(operations), limits.OPERATIONS_PER_COMMIT_MAX):
        assert client.commit(*operations[start : start + 500]).status == 201
    return client.delete(top, subtree=True)


def committed(client: Client, operations: int) -> Answer:
    return client.commit(*[{"op": "create", "scope": SCOPE, "name": "x"}] * operations)


def configuration_of(size: int) -> str:
    """A configuration of so many bytes in the form in which it is stored."""
    page = '[[scopes."org:$org".pages]]\nkey = "k"\nname = "n"\nbody = "%s"\n'
    text = dump_configuration(load_configuration(CONFIGURATION + page % "LONG", "toml"))
    return text.replace("LONG", "x" * (size - len(text) + len("LONG")))


def scopes_named(client: Client, count: int) -> Answer:
    named = ",".join([SCOPE, *(f"org:n{n}" for n in range(count - 1))])
    return client.ask("GET", "/scopes", headers={"kb-scopes": named})


REACHED: dict[str, Ask] = {
    "KEY_CODE_POINTS_MAX": lambda c, n: made(c, key="é" * n),
    "NAME_CODE_POINTS_MAX": lambda c, n: made(c, name="é" * n),
    "DESCRIPTION_TOKENS_MAX": lambda c, n: made(c, description="文" * n),
    "BODY_BYTES_MAX": lambda c, n: made(c, body="é" * (n // 2) + "x" * (n % 2)),
    "NESTING_LEVELS_MAX": nested,
    "NOTE_TOKENS_MAX": lambda c, n: note(c, text="文" * n),
    "NOTE_STAMPS_MAX": lambda c, n: note(c, scope=teams(n)),
    "PIN_AUDIENCE_MAX": lambda c, n: pin(c, audience=teams(n)),
    "PIN_DEPTH_LEVELS_MAX": lambda c, n: pin(c, depth=n),
    "SCOPE_ADDRESS_CODE_POINTS_MAX": lambda c, n: pin(c, audience=["team:acme:" + "é" * (n - 10)]),
    "HELD_SCOPES_MAX": scopes_named,
    "PAGES_PER_OPERATION_MAX": deleted,
    "OPERATIONS_PER_COMMIT_MAX": committed,
    "COMMIT_MESSAGE_CODE_POINTS_MAX": partial(header, name="kb-message"),
    "RUN_CODE_POINTS_MAX": partial(header, name="kb-run"),
    "TOOL_CALL_CODE_POINTS_MAX": partial(header, name="kb-tool-call"),
    "IDEMPOTENCY_KEY_CODE_POINTS_MAX": partial(header, name="idempotency-key"),
}


@pytest.mark.parametrize("limit", REACHED)
def test_the_limit_is_reached(client: Client, limit: str) -> None:
    answer = REACHED[limit](client, getattr(limits, limit))
    assert answer.status in (200, 201), answer.raw[:500]


@pytest.mark.parametrize("limit", REACHED)
def test_one_above_is_refused(client: Client, kb: KnowledgeBase, limit: str) -> None:
    sent: list[Answer] = []
    ask = client.ask

    def remembered(*args: object, **more: object) -> Answer:
        before = kb.revision
        sent.append(ask(*args, **more))  # type: ignore[arg-type]
        if sent[-1].status >= 400:
            assert kb.revision == before, "a refusal was written"
        return sent[-1]

    client.ask = remembered  # type: ignore[method-assign]
    refusal = REACHED[limit](client, getattr(limits, limit) + 1).refusal
    assert REFUSALS[refusal.code] == refusal.http_status
    assert refusal.details
    assert "field" in refusal.details or refusal.code != "VALIDATION_ERROR"


@pytest.mark.parametrize("extra", [0, 1])
def test_a_message_in_the_body_has_the_limit_of_the_header(client: Client, extra: int) -> None:
    message = "é" * (limits.COMMIT_MESSAGE_CODE_POINTS_MAX + extra)
    operation = {"op": "create", "scope": SCOPE, "name": "x"}
    answer = client.commit(operation, message=message)
    assert answer.status == (422 if extra else 201)
    if extra:
        assert answer.refusal.details["field"] == "message"


@pytest.mark.parametrize("extra", [0, 1])
def test_a_configuration_has_a_size(client: Client, extra: int) -> None:
    text = configuration_of(limits.CONFIGURATION_BYTES_MAX + extra)
    answer = client.ask("PUT", "/configuration", text.encode(), match="*")
    if extra:
        answer.refused(422, "CONFIGURATION_INVALID")
    else:
        assert answer.status == 200, answer.raw[:300]


def test_a_list_has_a_length_by_default(client: Client) -> None:
    top = client.made().id
    create = {"op": "create", "scope": SCOPE, "name": "x", "parent": top}
    client.commit(*[create] * (limits.LIST_ITEMS_DEFAULT + 1))
    part = client.part(f"/pages/{top}/children")
    assert len(part.items) == limits.LIST_ITEMS_DEFAULT
    assert part.next_cursor is not None


@pytest.mark.parametrize("extra", [0, 1])
def test_front_matter_has_a_size(client: Client, extra: int) -> None:
    """Over its limit it stays text: the page is written all the same."""
    start, end = "---\nk: ", "\n---\n"
    size = limits.FRONT_MATTER_BYTES_MAX + extra - len("k: \n")
    answer = made(client, body=f"{start}{'x' * size}{end}")
    page = msgspec.json.decode(answer.raw)["page"]
    assert (page["frontmatter"] is None) == bool(extra)
    assert ("frontmatterError" in page) == bool(extra)


def test_links_are_followed_up_to_a_number(client: Client) -> None:
    most = limits.LINKS_PER_TEXT_MAX
    last, over = client.made("last"), client.made("over")
    others = [f"[[{SCOPE}#other/{n}]]" for n in range(most - 1)]
    links = [*others, f"[[{last.id}]]", f"[[{over.id}]]"]
    assert made(client, body="\n".join(links)).status == 201
    assert len(client.part(f"/pages/{last.id}/backlinks").items) == 1
    assert client.part(f"/pages/{over.id}/backlinks").items == []


@pytest.mark.parametrize("extra", [0, 1])
def test_a_merged_body_is_offered_up_to_a_size(client: Client, extra: int) -> None:
    size = limits.DIFF_BYTES_MAX + extra
    body = ("first\n" + "x" * 99 + "\n") + "y" * 99 + "\n"
    body += "z" * (size - len(body) - len("\nlast\n")) + "\nlast\n"
    page = client.made("page", body=body)
    client.edit(page.id, body=body.replace("first", "FIRST"))
    mine = body.replace("last", "LAST")
    refusal = client.edit(page.id, page.version, body=mine).refused(409, "VERSION_CONFLICT")
    assert ("merged" in refusal.details) == (not extra)


def test_every_limit_is_tried_somewhere() -> None:
    here = {*REACHED, "CONFIGURATION_BYTES_MAX", "LIST_ITEMS_DEFAULT", "FRONT_MATTER_BYTES_MAX"}
    here |= {"LINKS_PER_TEXT_MAX", "DIFF_BYTES_MAX"}
    every = {name for name in vars(limits) if name.isupper()}
    assert every == here | set(ELSEWHERE)
    assert not here & set(ELSEWHERE)
