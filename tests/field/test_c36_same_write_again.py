"""C36: a write that was sent again, now with the right next version, was stored twice.

What tells that it is the same is its Idempotency-Key; the expected version is no part of it.
"""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from kbstore.domain.commands import CreatePage
from kbstore.domain.events import PageDeleted
from kbstore.errors import ConflictError
from kbstore.store.application import KnowledgeBaseApplication
from kbstore.store.mapper import StructMapper
from tests.asking import Answer, Client, Version
from tests.knowledge import SCOPE, KnowledgeBase

Send = Callable[[Client, str, str, Version, str], Answer]
"""client, page, another page, the expected version, Idempotency-Key."""


def operation(op: str, page: str, version: Version, **fields: object) -> dict[str, object]:
    expected = "any" if version == "*" else version
    return {"operations": [{"op": op, "page": page, "expectedVersion": expected, **fields}]}


WRITES: dict[str, Send] = {
    "edit": lambda c, p, o, v, k: c.ask("PATCH", f"/pages/{p}", {"body": "new\n"}, match=v, key=k),
    "range": lambda c, p, o, v, k: c.ask(
        "PATCH",
        f"/pages/{p}",
        {"body": "new", "range": {"start": {"line": 1}, "end": {"line": 1}}},
        match=v,
        key=k,
    ),
    "move": lambda c, p, o, v, k: c.ask(
        "POST", f"/pages/{p}/move", {"key": "moved"}, match=v, key=k
    ),
    "merge": lambda c, p, o, v, k: c.ask(
        "POST", f"/pages/{p}/merge", {"into": o, "intoVersion": 1}, match=v, key=k
    ),
    "delete": lambda c, p, o, v, k: c.ask("DELETE", f"/pages/{p}", match=v, key=k),
    "restore": lambda c, p, o, v, k: c.ask(
        "POST", f"/pages/{p}/restore", {"version": 1}, match=v, key=k
    ),
    "edit in a commit": lambda c, p, o, v, k: c.ask(
        "POST", "/commits", operation("edit", p, v, body="new\n"), key=k
    ),
    "move in a commit": lambda c, p, o, v, k: c.ask(
        "POST", "/commits", operation("move", p, v, key="moved"), key=k
    ),
    "delete in a commit": lambda c, p, o, v, k: c.ask(
        "POST", "/commits", operation("delete", p, v), key=k
    ),
}


@pytest.mark.parametrize("again", [2, 3, 4, 99, "*"])
@pytest.mark.parametrize("name", WRITES)
def test_whatever_version_is_expected_the_second_time(
    kb: KnowledgeBase, ana: Client, name: str, again: Version
) -> None:
    page, other = ana.made("p", body="old\n").id, ana.made("q").id
    ana.edit(page, 1, body="older\n")
    first = WRITES[name](ana, page, other, 2, "k")
    assert first.status in (200, 201)
    assert first.json["changed"] is True
    with kb.nothing_written():
        second = WRITES[name](ana, page, other, again, "k")
    assert (second.status, second.raw) == (first.status, first.raw)
    assert second.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("name", ["edit", "range", "move", "edit in a commit"])
def test_also_after_others_wrote_in_between(
    kb: KnowledgeBase, ana: Client, ben: Client, name: str
) -> None:
    """Without the key the retry would now overwrite what came after it."""
    page, other = ana.made("p", body="old\n").id, ana.made("q").id
    first = WRITES[name](ana, page, other, 1, "k")
    later = ben.edit(page, 2, body="later\n").page
    with kb.nothing_written():
        assert WRITES[name](ana, page, other, 3, "k").raw == first.raw
    assert ana.page(page) == later


def test_the_expected_revision_of_a_commit_is_no_part_either(
    kb: KnowledgeBase, ana: Client
) -> None:
    create = {"op": "create", "scope": SCOPE, "name": "New"}

    def send(expected: int | None) -> Answer:
        body: dict[str, object] = {"operations": [create]}
        if expected is not None:
            body["expectedRevision"] = expected
        return ana.ask("POST", "/commits", body, key="k")

    first = send(kb.revision)
    assert first.status == 201
    for expected in (kb.revision, 1, None):
        with kb.nothing_written():
            assert send(expected).raw == first.raw


def test_without_a_key_the_same_content_is_no_second_version(
    kb: KnowledgeBase, ana: Client
) -> None:
    page = ana.made("p", body="old\n").id
    assert ana.edit(page, 1, body="new\n").page.version == 2
    with kb.nothing_written():
        assert ana.edit(page, 2, body="new\n").written.changed is False


def stored(originator: UUID, version: int) -> StoredEvent:
    event = PageDeleted(originator_id=originator, originator_version=version)
    return StructMapper().to_stored_event(event)


@pytest.mark.parametrize("copies", [1, 2])
def test_the_log_itself_holds_an_event_once(kb: KnowledgeBase, ana: Client, copies: int) -> None:
    """An event is named by its aggregate and its number there; a second one is refused whole."""
    page = UUID(ana.made("p").id)
    recorder = KnowledgeBaseApplication(
        kb.services.database, kb.services.commands.writer, kb.id
    ).recorder
    with kb.nothing_written(), pytest.raises(IntegrityError):
        recorder.insert_events([stored(page, 1)] * copies)
    other = uuid4()
    with kb.nothing_written(), pytest.raises(IntegrityError):
        recorder.insert_events([stored(page, 2), stored(other, 1), stored(other, 1)])
    assert ana.page(str(page)).version == 1


def test_a_text_is_stored_once(kb: KnowledgeBase) -> None:
    """Its id names it: a ref never leads to two texts."""
    text = kb.text("once")
    kb.run(CreatePage(scope=SCOPE, name=text))
    with kb.nothing_written(), pytest.raises(ConflictError):
        kb.run(CreatePage(scope=SCOPE, name=text))
