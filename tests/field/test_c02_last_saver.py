"""C2: the last one to save won, without a warning, and nobody knew that a text was gone."""

from functools import partial

import pytest

from tests.asking import Answer, Ask, Client
from tests.field.doors import Door, both_doors
from tests.knowledge import KnowledgeBase
from tests.together import racing

ROUNDS = 100


@both_doors
def test_two_savers_started_together_a_hundred_times(
    kb: KnowledgeBase, ana: Client, ben: Client, door: Door
) -> None:
    page = ana.made("p", body="0").id
    accepted: list[str] = ["0"]
    with racing(2) as together:
        for version in range(1, ROUNDS + 1):
            texts = [f"{version} by ana", f"{version} by ben"]
            answers = together.run(
                [
                    partial(door, client, "edit", page, version, {"body": text})
                    for client, text in zip((ana, ben), texts, strict=True)
                ]
            )
            assert sorted(_status(answer) for answer in answers)[1] == 409
            accepted += [text for text, a in zip(texts, answers, strict=True) if _status(a) < 300]
            assert len(accepted) == version + 1
    assert len(kb.events_of(page)) == ROUNDS + 1, "as many events as accepted writes"
    assert ana.page(page).body == accepted[-1]
    # No accepted text is lost: each is the body at the revision of its event.
    entries = ana.history(page)
    assert [ana.page(page, revision=entry.revision).body for entry in entries] == accepted


@pytest.mark.parametrize("fields", ["name", "description", "body"])
def test_savers_of_different_fields_do_not_pass_each_other_either(
    kb: KnowledgeBase, asking: Ask, ana: Client, fields: str
) -> None:
    page = ana.made("p", body="0").id
    clients = [asking(f"agent:{number}") for number in range(4)]
    with racing(len(clients)) as together:
        for version in range(1, 11):
            answers = together.run(
                [
                    partial(client.edit, page, version, **{fields: f"{version} by {number}"})
                    for number, client in enumerate(clients[:2])
                ]
                + [
                    partial(client.move, page, version, key=f"k{version}-{number}")
                    for number, client in enumerate(clients[2:])
                ]
            )
            assert sorted(map(_status, answers)) == [200, 409, 409, 409]
    assert len(kb.events_of(page)) == 11


def _status(answer: object) -> int:
    assert isinstance(answer, Answer)
    return answer.status
