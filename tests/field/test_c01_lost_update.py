"""C1: a client that wrote a whole page from an old read wiped newer edits and got an "ok"."""

from collections.abc import Callable, Mapping

import pytest

from tests.asking import Answer, Client
from tests.field.doors import Door, both_doors, lines
from tests.knowledge import KnowledgeBase

Fields = Mapping[str, object]
OTHER = "the id of another page"

WRITES = [
    ("edit", {"body": "b\n"}),
    ("edit", {"body": ""}),
    ("edit", {"body": None}),
    ("edit", {"name": "B"}),
    ("edit", {"description": "b"}),
    ("edit", {"description": None}),
    ("edit", {"name": "B", "description": "b", "body": "b\n"}),
    ("edit", {"body": "b", "range": lines(1)}),
    (
        "edit",
        {"body": "b", "range": {"start": {"line": 1, "col": 0}, "end": {"line": 1, "col": 1}}},
    ),
    ("move", {"key": "b"}),
    ("move", {"key": None}),
    ("move", {"parent": OTHER}),
    ("move", {"scope": "team:acme:support"}),
    ("merge", {"into": OTHER}),
    ("delete", {}),
    ("delete", {"subtree": True}),
    ("restore", {"version": 1}),
]
"""What B may try to do with what he read."""

NEWER: dict[str, Callable[[Client, str], Answer]] = {
    "body": lambda a, page: a.edit(page, 3, body="a\n"),
    "name": lambda a, page: a.edit(page, 3, name="A"),
    "description": lambda a, page: a.edit(page, 3, description="a"),
    "place": lambda a, page: a.move(page, 3, key="a"),
    "restored": lambda a, page: a.restore(page, 3, version=1),
}
"""What A did before him."""


def page_at_version_3(client: Client) -> str:
    page = client.made("p", body="first\n", description="one").id
    assert client.edit(page, 1, body="second\n").status == 200
    assert client.edit(page, 2, body="third\n", description="three").page.version == 3
    return page


@both_doors
@pytest.mark.parametrize(("op", "fields"), WRITES)
def test_a_write_from_an_old_read_is_refused_and_writes_nothing(
    kb: KnowledgeBase, ana: Client, ben: Client, op: str, fields: Fields, door: Door
) -> None:
    page, other = page_at_version_3(ana), ana.made("other").id
    newer = ana.edit(page, 3, body="a\n").page
    assert newer.version == 4
    sent = {name: other if value is OTHER else value for name, value in fields.items()}
    with kb.nothing_written():
        details = door(ben, op, page, 3, sent).refused(409, "VERSION_CONFLICT").details
    assert details["pageId"] == page
    assert details["ref"] == "org:acme#p"
    assert (details["expectedVersion"], details["currentVersion"]) == (3, 4)
    assert details["currentRevision"] == kb.revision
    assert details["updatedBy"] == "user:ana"
    assert "-third\n+a\n" in str(details["diff"])
    assert ana.page(page) == newer
    # With what he was told he can go on.
    current = details["currentVersion"]
    assert isinstance(current, int)
    assert door(ben, op, page, current, sent).status in (200, 201)


@both_doors
@pytest.mark.parametrize("kind", NEWER)
def test_whatever_the_newer_edit_was(
    kb: KnowledgeBase, ana: Client, ben: Client, kind: str, door: Door
) -> None:
    page = page_at_version_3(ana)
    newer = NEWER[kind](ana, page).page
    assert newer.version == 4
    with kb.nothing_written():
        door(ben, "edit", page, 3, {"body": "b\n"}).refused(409, "VERSION_CONFLICT")
    assert ana.page(page) == newer


@both_doors
@pytest.mark.parametrize(("op", "fields"), WRITES)
def test_an_unsaid_expectation_is_never_taken_for_any(
    kb: KnowledgeBase, ana: Client, op: str, fields: Fields, door: Door
) -> None:
    page, other = page_at_version_3(ana), ana.made("other").id
    sent = {name: other if value is OTHER else value for name, value in fields.items()}
    with kb.nothing_written():
        door(ana, op, page, None, sent).refused(428, "PRECONDITION_REQUIRED")


@pytest.mark.parametrize(
    "given",
    ["3", '"three"', '""', '"3', 'W/"3"', '"3", "4"', '"-3"', '"3.0"', '"*"', "any", '"any"'],
)
def test_an_expectation_that_says_no_version_is_refused(
    kb: KnowledgeBase, ana: Client, given: str
) -> None:
    page = page_at_version_3(ana)
    with kb.nothing_written():
        refusal = ana.edit(page, given, body="b\n").refused(422, "VALIDATION_ERROR")
    assert refusal.details["field"] == "If-Match"


@pytest.mark.parametrize("version", [0, 1, 2, 4, 5, 999_999_999])
@both_doors
def test_older_and_future_versions_alike(
    kb: KnowledgeBase, ana: Client, version: int, door: Door
) -> None:
    page = page_at_version_3(ana)
    with kb.nothing_written():
        details = (
            door(ana, "edit", page, version, {"body": "b\n"})
            .refused(409, "VERSION_CONFLICT")
            .details
        )
    assert (details["expectedVersion"], details["currentVersion"]) == (version, 3)


def test_the_tag_of_a_read_names_its_version(ana: Client) -> None:
    page = page_at_version_3(ana)
    tag = ana.ask("GET", f"/pages/{page}").headers["etag"]
    assert ana.edit(page, tag, body="a\n").page.version == 4
    ana.edit(page, tag, body="b\n").refused(409, "VERSION_CONFLICT")


@both_doors
def test_any_version_is_said_out_loud(ana: Client, door: Door) -> None:
    page = page_at_version_3(ana)
    assert door(ana, "edit", page, "*", {"body": "b\n"}).status in (200, 201)
    assert ana.page(page).version == 4


def test_both_pages_of_a_merge_can_be_expected(kb: KnowledgeBase, ana: Client, ben: Client) -> None:
    page, into = ana.made("p").id, ana.made("q").id
    ana.edit(into, 1, body="newer\n")
    with kb.nothing_written():
        details = ben.merge(page, into, 1, intoVersion=1).refused(409, "VERSION_CONFLICT").details
    assert (details["pageId"], details["currentVersion"]) == (into, 2)
    assert ben.merge(page, into, 1, intoVersion=2).status == 200


def test_in_a_commit_versions_are_those_before_it(kb: KnowledgeBase, ana: Client) -> None:
    page = page_at_version_3(ana)
    twice = [
        {"op": "edit", "page": page, "expectedVersion": 3, "body": "once\n"},
        {"op": "edit", "page": page, "expectedVersion": 3, "name": "Twice"},
    ]
    assert ana.commit(*twice).status == 201
    assert ana.page(page).version == 5
    with kb.nothing_written():
        ana.commit(
            {"op": "edit", "page": page, "expectedVersion": 5, "body": "c\n"},
            {"op": "edit", "page": page, "expectedVersion": 6, "body": "d\n"},
        ).refused(409, "VERSION_CONFLICT")
