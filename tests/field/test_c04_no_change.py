"""C4: a sync that wrote the same text again every minute raised conflicts for everybody else."""

from collections.abc import Mapping

import pytest

from tests.asking import Client
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, KnowledgeBase

BODY = "---\ntitle: Café\n---\n# Café\n\nOpen until late.\n"
PAGE = {"name": "Café", "description": "Where the coffee is", "body": BODY}

SAME: list[tuple[str, Mapping[str, object]]] = [
    ("edit", {"body": BODY}),
    ("edit", PAGE),
    ("edit", {"body": BODY.replace("\n", "\r\n")}),
    ("edit", {"body": BODY.replace("\n", "\r")}),
    ("edit", {"name": "Café"}),
    ("edit", {"name": "Cafe\u0301"}),
    ("edit", {"name": "  Café\t"}),
    ("edit", {"description": "Where the coffee is"}),
    ("move", {"key": "café"}),
    ("move", {"key": "cafe\u0301"}),
    ("move", {"parent": None}),
    ("move", {"scope": SCOPE}),
    ("move", {"scope": SCOPE, "parent": None, "key": "café"}),
    ("restore", {"version": 1}),
]
"""What leaves a page as it is."""


@both_doors
@pytest.mark.parametrize("version", [1, 2, 7, "*"])
@pytest.mark.parametrize(("op", "fields"), SAME)
def test_what_changes_nothing_makes_no_version_and_no_event(
    kb: KnowledgeBase,
    ana: Client,
    op: str,
    fields: Mapping[str, object],
    version: int | str,
    door: Door,
) -> None:
    """Also from a stale read: there is nothing to lose."""
    page = ana.made("café", **PAGE)
    other = ana.edit(page.id, 1, name="Other").page
    assert ana.edit(page.id, 2, name="Café").page.version == other.version + 1
    with kb.nothing_written():
        answer = door(ana, op, page.id, version, fields)
    assert answer.status == 200
    assert answer.json["changed"] is False
    assert answer.json["revision"] == kb.revision
    assert ana.page(page.id).version == 3


@both_doors
def test_a_sync_in_between_is_no_conflict_for_others(ana: Client, ben: Client, door: Door) -> None:
    page = ana.made("p", **PAGE)
    for _ in range(5):
        assert door(ben, "edit", page.id, "*", PAGE).json["changed"] is False
    assert ana.edit(page.id, 1, body="Closed.\n").page.version == 2


def test_of_several_fields_only_the_changed_one_is_an_event(kb: KnowledgeBase, ana: Client) -> None:
    page = ana.made("p", **PAGE)
    edited = ana.edit(page.id, 1, **{**PAGE, "description": "Where the tea is"}).page
    assert edited.version == 2
    assert ana.history(page.id)[-1].changed == ("description",)
    assert len(kb.events_of(page.id)) == 2


@pytest.mark.parametrize("empty", [None, ""])
def test_clearing_what_is_absent_changes_nothing(
    kb: KnowledgeBase, ana: Client, empty: str | None
) -> None:
    page = ana.made("p")
    with kb.nothing_written():
        assert ana.edit(page.id, 1, description=empty).written.changed is False
        assert ana.edit(page.id, 1, body=None).written.changed is False


def test_an_empty_body_is_not_an_absent_one(ana: Client) -> None:
    page = ana.made("p")
    assert ana.edit(page.id, 1, body="").page.version == 2
    assert ana.page(page.id).body == ""
    assert ana.edit(page.id, 2, body=None).page.version == 3


@pytest.mark.parametrize(
    "body", [BODY + "\n", BODY.replace("late", "Late"), " " + BODY, BODY.replace("é", "e\u0301")]
)
def test_the_smallest_difference_is_one(ana: Client, body: str) -> None:
    """Bodies are kept as sent, line ends aside: another Unicode form is another body."""
    page = ana.made("p", **PAGE)
    assert ana.edit(page.id, 1, body=body).page.version == 2
    assert ana.page(page.id).body == body


def test_a_commit_in_which_some_operations_change_nothing(kb: KnowledgeBase, ana: Client) -> None:
    page, other = ana.made("p", **PAGE), ana.made("q", **PAGE)
    answer = ana.commit(
        {"op": "edit", "page": page.id, "expectedVersion": 99, **PAGE},
        {"op": "edit", "page": other.id, "expectedVersion": 1, "body": "new\n"},
    )
    assert answer.status == 201
    assert (ana.page(page.id).version, ana.page(other.id).version) == (1, 2)
    assert len(kb.events_of(page.id)) == 1


def test_notes_and_pins_as_they_are(kb: KnowledgeBase, ana: Client) -> None:
    page = ana.made("p", **PAGE).id
    note = ana.ask("POST", f"/pages/{page}/notes", {"text": "A fact.", "scope": [SCOPE]}).json
    pin = {"audience": [SCOPE], "depth": 1}
    assert ana.ask("PUT", f"/pages/{page}/pins/page", pin).status == 201
    assert isinstance(note["note"], dict)
    with kb.nothing_written():
        stamped = ana.ask("PATCH", f"/notes/{note['note']['id']}", {"scope": [SCOPE]})
        pinned = ana.ask("PUT", f"/pages/{page}/pins/page", pin)
    assert stamped.json["changed"] is False
    assert pinned.json["changed"] is False
