"""C3: a conflict showed, but the text could not be saved any more and was lost on reload."""

import pytest
from msgspec import Struct, convert

from kbstore.limits import DIFF_BYTES_MAX
from tests.asking import Client
from tests.field.doors import Door, both_doors, lines
from tests.knowledge import KnowledgeBase


class Merged(Struct, forbid_unknown_fields=True, rename="camel"):
    body: str
    expected_version: int


class Case(Struct):
    base: str
    theirs: str
    mine: str
    merged: str | None


FIVE = "one\ntwo\nthree\nfour\nfive\n"
CASES = {
    "ends": Case(
        FIVE,
        FIVE.replace("one", "ONE"),
        FIVE.replace("five", "FIVE"),
        "ONE\ntwo\nthree\nfour\nFIVE\n",
    ),
    "appended": Case(FIVE, "zero\n" + FIVE, FIVE + "six\n", "zero\n" + FIVE + "six\n"),
    "deleted": Case(
        FIVE, FIVE.replace("two\n", ""), FIVE.replace("five\n", ""), "one\nthree\nfour\n"
    ),
    "no last line end": Case("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
    "other scripts": Case(
        "日本\nb\nλόγος\n", "日本語\nb\nλόγος\n", "日本\nb\nλόγοι\n", "日本語\nb\nλόγοι\n"
    ),
    "line ends of another system": Case(
        FIVE,
        FIVE.replace("one", "ONE"),
        FIVE.replace("five", "FIVE").replace("\n", "\r\n"),
        "ONE\ntwo\nthree\nfour\nFIVE\n",
    ),
    "same line": Case(FIVE, FIVE.replace("two", "TWO"), FIVE.replace("two", "2"), None),
    "both append": Case(FIVE, FIVE + "theirs\n", FIVE + "mine\n", None),
    "I delete what they changed": Case(
        FIVE, FIVE.replace("two", "TWO"), FIVE.replace("two\n", ""), None
    ),
    "all rewritten": Case(FIVE, "something else\n", "another thing\n", None),
}


@both_doors
@pytest.mark.parametrize("name", CASES)
def test_the_refusal_carries_what_is_needed_to_go_on(
    kb: KnowledgeBase, ana: Client, ben: Client, name: str, door: Door
) -> None:
    case = CASES[name]
    page = ana.made("p", body=case.base).id
    ana.edit(page, 1, body=case.theirs)
    with kb.nothing_written():
        refusal = door(ben, "edit", page, 1, {"body": case.mine})
    details = refusal.refused(409, "VERSION_CONFLICT").details
    assert {"currentRevision", "updatedAt"} <= set(details)
    assert details["updatedBy"] == "user:ana"
    _check_diff(str(details["diff"]), case.base, case.theirs)
    if case.merged is None:
        assert "merged" not in details
        assert door(ben, "edit", page, 2, {"body": case.mine}).status in (200, 201)
        return
    merged = convert(details["merged"], Merged)
    assert merged.body == case.merged
    assert merged.expected_version == 2
    sent = door(ben, "edit", page, merged.expected_version, {"body": merged.body})
    assert sent.status in (200, 201)
    assert ana.page(page).body == case.merged


@both_doors
def test_an_edit_of_a_range_is_merged_as_well(ana: Client, ben: Client, door: Door) -> None:
    page = ana.made("p", body=FIVE).id
    ana.edit(page, 1, body="zero\n" + FIVE)
    edit = {"body": "FIVE", "range": lines(5)}
    details = door(ben, "edit", page, 1, edit).refused(409, "VERSION_CONFLICT").details
    assert convert(details["merged"], Merged).body == "zero\n" + FIVE.replace("five", "FIVE")


@pytest.mark.parametrize("field", ["name", "description"])
@both_doors
def test_a_conflict_over_another_field_has_a_diff_but_nothing_to_merge(
    ana: Client, ben: Client, field: str, door: Door
) -> None:
    page = ana.made("p", body=FIVE).id
    ana.edit(page, 1, **{field: "theirs"})
    details = door(ben, "edit", page, 1, {field: "mine"}).refused(409, "VERSION_CONFLICT").details
    assert details["diff"] == "", "the body did not change"
    assert "merged" not in details


@pytest.mark.parametrize("bytes_over", [0, 1])
def test_what_is_too_large_to_compare_is_said_to_be(
    ana: Client, ben: Client, bytes_over: int
) -> None:
    line = "x" * 63 + "\n"
    base = line * (DIFF_BYTES_MAX // len(line))
    assert len(base) == DIFF_BYTES_MAX
    page = ana.made("p", body=base).id
    theirs = "y" + base[1:] + "z" * bytes_over
    ana.edit(page, 1, body=theirs)
    mine = base[:-65] + "w" + base[-64:]
    details = ben.edit(page, 1, body=mine).refused(409, "VERSION_CONFLICT").details
    assert ("merged" in details) == (bytes_over == 0)
    assert str(details["diff"])


def test_every_refused_edit_of_a_commit_can_go_on(ana: Client, ben: Client) -> None:
    first, second = (ana.made(key, body=FIVE).id for key in ("p", "q"))
    ana.edit(second, 1, body=FIVE.replace("one", "ONE"))
    details = (
        ben.commit(
            {"op": "edit", "page": first, "expectedVersion": 1, "body": "whatever\n"},
            {"op": "edit", "page": second, "expectedVersion": 1, "body": FIVE + "six\n"},
        )
        .refused(409, "VERSION_CONFLICT")
        .details
    )
    assert details["pageId"] == second
    assert convert(details["merged"], Merged).body == FIVE.replace("one", "ONE") + "six\n"


def test_a_page_that_went_meanwhile_is_not_found(ana: Client, ben: Client) -> None:
    page, into = ana.made("p", body=FIVE).id, ana.made("q").id
    ana.merge(page, into)
    refusal = ben.edit(page, 1, body="mine\n").refused(404, "NOT_FOUND")
    assert refusal.details["mergedInto"] == into


def _check_diff(diff: str, before: str, after: str) -> None:
    """What the diff takes away stood in the one text, what it adds stands in the other."""
    hunks = diff.split("\n")[2:]
    removed = [line[1:] for line in hunks if line.startswith("-")]
    added = [line[1:] for line in hunks if line.startswith("+")]
    assert removed or added
    assert set(removed) <= set(before.split("\n"))
    assert set(added) <= set(after.split("\n"))
    assert len(after.split("\n")) - len(before.split("\n")) == len(added) - len(removed)
