"""One request sent several times at once under one Idempotency-Key: one effect, one answer."""

from functools import partial
from hashlib import sha256
from uuid import UUID

import pytest

from kbstore.domain.commands import (
    Batch,
    Command,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
)
from kbstore.errors import IdempotencyKeyReusedError
from kbstore.service import Outcome
from kbstore.store.idempotency import Claim
from tests.asking import Answer, Client
from tests.knowledge import SCOPE, KnowledgeBase
from tests.together import racing

COPIES = 8
ROUNDS = 25
HTTP_ROUNDS = 6


def claim(key: str, request: str = "one request") -> Claim:
    return Claim(principal="user:ana", key=key, request_sha256=sha256(request.encode()).digest())


def commands(kb: KnowledgeBase, number: int) -> list[Command]:
    """One of each kind of write, none of which could be made twice without being noticed."""

    def made(key: str) -> UUID:
        command = CreatePage(scope=SCOPE, key=f"{key}{number}", name=kb.text(key))
        return kb.run(command).subjects[0].id

    def keyless() -> CreatePage:
        return CreatePage(scope=SCOPE, name=kb.text("Keyless"))

    return [
        keyless(),
        EditPage(page=made("edit"), expected_version=1, body=kb.body("New")),
        MovePage(page=made("move"), expected_version=1, key=f"moved{number}"),
        MergePage(page=made("merge"), into=made("into"), expected_version=1),
        DeletePage(page=made("delete"), expected_version=1),
        Batch(operations=(keyless(), keyless())),
        # One that changes nothing is remembered as well.
        EditPage(page=made("same"), expected_version=1, name=kb.text("same")),
    ]


def test_racing_duplicates_have_one_effect_and_one_answer(kb: KnowledgeBase) -> None:
    with racing(COPIES) as together:
        for number in range(ROUNDS):
            for kind, command in enumerate(commands(kb, number)):
                before = len(kb.log())
                key = claim(f"{number}-{kind}")
                outcomes = together.run([partial(kb.run, command, "user:ana", key)] * COPIES)
                first = [o for o in outcomes if isinstance(o, Outcome) and not o.replayed]
                assert len(first) == 1
                for outcome in outcomes:
                    assert isinstance(outcome, Outcome)
                    assert outcome.subjects == first[0].subjects
                    assert outcome.changed == first[0].changed
                    assert outcome.revision == first[0].revision
                assert kb.revision == first[0].revision
                # A second commit would have raised the revision again.
                assert (len(kb.log()) > before) == first[0].changed
    kb.check_tree()


def test_of_two_racing_requests_under_one_key_one_is_refused(kb: KnowledgeBase) -> None:
    with racing(2) as together:
        for number in range(ROUNDS):
            before = len(kb.log())
            outcomes = together.run(
                [
                    partial(
                        kb.run,
                        CreatePage(scope=SCOPE, name=kb.text(name)),
                        "user:ana",
                        claim(f"k{number}", name),
                    )
                    for name in ("One", "Other")
                ]
            )
            assert sum(isinstance(o, IdempotencyKeyReusedError) for o in outcomes) == 1
            # The first page of a scope brings the scope page with it.
            assert len(kb.log()) == before + (2 if number == 0 else 1)


def test_another_principal_may_use_the_same_key(kb: KnowledgeBase) -> None:
    """Keys are each principal's own: neither waits for nor learns of the other's."""
    claims = [
        Claim(principal=who, key="k", request_sha256=b"r" * 32) for who in ("user:ana", "user:ben")
    ]
    with racing(2) as together:
        outcomes = together.run(
            [
                partial(
                    kb.run,
                    CreatePage(scope=SCOPE, name=kb.text("Mine")),
                    who.principal,
                    who,
                )
                for who in claims
            ]
        )
    assert [isinstance(o, Outcome) and o.replayed for o in outcomes] == [False, False]
    assert len(kb.tree()) == 3


@pytest.mark.parametrize("kind", ["create", "edit", "move", "delete", "commit"])
def test_over_http(kb: KnowledgeBase, ana: Client, kind: str) -> None:
    with racing(COPIES) as together:
        for number in range(HTTP_ROUNDS):
            page = ana.made(f"p{number}")
            before = kb.revision
            answers = together.run([partial(_send, ana, kind, page.id, number)] * COPIES)
            seen = set()
            replayed = 0
            for answer in answers:
                assert isinstance(answer, Answer)
                assert answer.status < 300, answer.raw
                seen.add((answer.status, answer.raw))
                replayed += answer.headers.get("idempotency-replayed") == "true"
            assert len(seen) == 1, "every copy gets the first answer"
            assert replayed == COPIES - 1
            assert kb.revision == before + 1


def _send(client: Client, kind: str, page: str, number: int) -> Answer:
    key = f"{kind}-{number}"
    match kind:
        case "create":
            return client.create(idempotency=key, body="twice?")
        case "edit":
            return client.ask("PATCH", f"/pages/{page}", {"body": "new"}, match=1, key=key)
        case "move":
            path = f"/pages/{page}/move"
            return client.ask("POST", path, {"key": f"m{number}"}, match=1, key=key)
        case "delete":
            return client.ask("DELETE", f"/pages/{page}", match=1, key=key)
        case _:
            operation = {"op": "create", "scope": SCOPE, "name": "Made"}
            return client.ask("POST", "/commits", {"operations": [operation]}, key=key)
