"""Batches that lost a write, and refusals of batches that led their caller astray."""

from collections.abc import Mapping

import msgspec
import pytest

from tests.asking import Ask, Client
from tests.knowledge import CONFIGURATION, SCOPE, VAULT, KnowledgeBase

Operation = dict[str, object]


class Moved(msgspec.Struct, rename="camel"):
    page_id: str
    ref: str | None


TEMPLATE = """
[scopes."declared:$org"]
access = [{{ principal = "org:$org", role = "owner" }}]

[[scopes."declared:$org".pages]]
key = "log"
name = "Log"
body = "{body}"
"""


def by_range(page: str, line: int, text: str, version: int = 1) -> Operation:
    return {
        "op": "edit",
        "page": page,
        "expectedVersion": version,
        "body": text,
        "range": {"start": {"line": line}, "end": {"line": line}},
    }


def change(op: str, page: str, version: int | str = 1, **fields: object) -> Operation:
    return {"op": op, "page": page, "expectedVersion": version, **fields}


def planned(client: Client, *operations: Operation) -> list[str]:
    """The types of the events a dry run tells."""
    return types_of(client.commit(*operations, dryRun=True).json)


def made(client: Client, *operations: Operation) -> list[str]:
    """The types of the events a commit made, as its maker reads them."""
    revision = client.commit(*operations).json["revision"]
    commit = client.ask("GET", f"/commits/{revision}").json["commit"]
    return types_of(msgspec.convert(commit, dict[str, object]))


def types_of(told: dict[str, object]) -> list[str]:
    return [str(event["type"]) for event in msgspec.convert(told["events"], list[Operation])]


# --- a range stands alone -----------------------------------------------------------------------


def test_two_ranges_of_one_page_are_refused_however_its_id_is_written(
    kb: KnowledgeBase, ana: Client
) -> None:
    page = ana.made("page", body="1\n2\n3\n").id
    with kb.nothing_written():
        refusal = ana.commit(by_range(page, 1, "ONE"), by_range(page.upper(), 3, "THREE")).refused(
            422, "VALIDATION_ERROR"
        )
    assert refusal.details == {"field": "operations[0].range", "reason": "repeated"}


@pytest.mark.parametrize("first", [True, False], ids=["range first", "range last"])
@pytest.mark.parametrize("op", ["edit", "move", "merge", "delete", "restore", "merge into"])
def test_a_range_stands_beside_no_other_change_of_its_page(
    kb: KnowledgeBase, ana: Client, op: str, first: bool
) -> None:
    page, other = ana.made("page", body="1\n2\n"), ana.made("other")
    changes = {
        "edit": change("edit", page.id, name="Other"),
        "move": change("move", page.id, key="elsewhere"),
        "merge": change("merge", page.id, into=other.id),
        "delete": change("delete", page.id),
        "restore": change("restore", page.id.upper(), version=1),
        "merge into": change("merge", other.id, into=page.id.upper()),
    }
    batch = [by_range(page.id, 1, "ONE"), changes[op]]
    with kb.nothing_written():
        refusal = ana.commit(*batch if first else reversed(batch)).refused(422, "VALIDATION_ERROR")
    field = f"operations[{0 if first else 1}].range"
    assert refusal.details == {"field": field, "reason": "repeated"}


def test_a_range_stands_beside_notes_and_pins_and_pages_below(ana: Client) -> None:
    page = ana.made("page", body="1\n2\n").id
    answer = ana.commit(
        by_range(page, 1, "ONE"),
        {"op": "addNote", "page": page, "text": "A fact", "scope": [SCOPE]},
        {"op": "pin", "page": page, "kind": "page", "audience": [SCOPE]},
        {"op": "create", "scope": SCOPE, "name": "Below", "parent": page},
    )
    assert answer.status == 201, answer.raw
    assert ana.page(page).body == "ONE\n2\n"


def test_a_page_of_the_commit_itself_has_no_lines_to_count(ana: Client) -> None:
    create = {"op": "create", "scope": SCOPE, "name": "New", "body": "1\n"}
    refusal = ana.commit(create, by_range("$0", 1, "ONE")).refused(422, "VALIDATION_ERROR")
    assert refusal.details == {"field": "operations[1].range", "reason": "newPage"}


# --- a range of what was never written ----------------------------------------------------------


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "edit"])
def test_an_unwritten_page_has_no_lines_to_count(
    kb: KnowledgeBase, asking: Ask, batch: bool
) -> None:
    """Its text may be another one since it was read, and its version still 0."""
    ana = asking("user:ana", SCOPE, "declared:acme")
    kb.configure(CONFIGURATION + TEMPLATE.format(body="one\\ntwo\\n"))
    page = ana.page_at("declared:acme#log")
    kb.configure(CONFIGURATION + TEMPLATE.format(body="zero\\none\\ntwo\\n"))
    edit = by_range(page.id, 2, "TWO", page.version)
    with kb.nothing_written():
        if batch:
            refusal = ana.commit(edit).refused(422, "VALIDATION_ERROR")
        else:
            fields = {"body": edit["body"], "range": edit["range"]}
            refusal = ana.edit(page.id, 0, **fields).refused(422, "VALIDATION_ERROR")
    field = "operations[0].range" if batch else "range"
    assert refusal.details == {"field": field, "reason": "unwritten"}
    # The whole body is not counted in lines.
    assert ana.edit(page.id, 0, body="all\n").page.body == "all\n"
    stale = ana.edit(page.id, 0, body="TWO", range=edit["range"])
    assert stale.refused(409, "VERSION_CONFLICT").details["currentVersion"] == 2


def test_no_merged_text_is_made_from_the_text_of_a_declaration(
    kb: KnowledgeBase, asking: Ask
) -> None:
    ana, ben = (asking(f"user:{name}", SCOPE, "declared:acme") for name in ("ana", "ben"))
    kb.configure(CONFIGURATION + TEMPLATE.format(body="one\\ntwo\\nthree\\n"))
    page = ana.page_at("declared:acme#log")
    kb.configure(CONFIGURATION + TEMPLATE.format(body="changed\\ntwo\\nthree\\n"))
    ben.edit(page.id, 0, body="changed\ntwo\nthree\nfour\n")
    refusal = ana.edit(page.id, 0, body="one\nTWO\nthree\n").refused(409, "VERSION_CONFLICT")
    assert "merged" not in refusal.details


# --- conflicts ----------------------------------------------------------------------------------


def test_the_merged_text_is_what_the_batch_would_have_left(ana: Client, ben: Client) -> None:
    page = ana.made("page", body="a\nb\nc\n").id
    ben.edit(page, 1, body="A\nb\nc\n")
    edits = [change("edit", page, body=f"a\nb\n{text}\n") for text in ("C1", "C2")]
    details = ana.commit(*edits).refused(409, "VERSION_CONFLICT").details
    assert details["merged"] == {"body": "A\nb\nC2\n", "expectedVersion": 2}
    named = ana.commit(*edits, change("edit", page, name="Named"))
    assert named.refused(409, "VERSION_CONFLICT").details["merged"] == details["merged"]


@pytest.mark.parametrize("last", ["restore", "delete", "clear", "newer"])
def test_no_merged_text_is_offered_where_another_operation_has_the_last_word(
    ana: Client, ben: Client, last: str
) -> None:
    page = ana.made("page", body="a\nb\nc\n").id
    ben.edit(page, 1, body="A\nb\nc\n")
    ends: Mapping[str, Operation] = {
        "restore": change("restore", page, version=1),
        "delete": change("delete", page),
        "clear": change("edit", page, body=None),
        "newer": change("edit", page, 2, body="A\nb\nC\n"),
    }
    refusal = ana.commit(change("edit", page, body="a\nb\nC\n"), ends[last])
    assert "merged" not in refusal.refused(409, "VERSION_CONFLICT").details


@pytest.mark.parametrize("op", ["edit", "move", "delete", "merge into"])
def test_a_version_of_a_page_that_the_commit_creates_conflicts(
    kb: KnowledgeBase, ana: Client, op: str
) -> None:
    other = ana.made("other").id
    operation = {
        "edit": change("edit", "$0", body="x"),
        "move": change("move", "$0", key="k"),
        "delete": change("delete", "$0"),
        "merge into": change("merge", other, into="$0", intoVersion=1),
    }
    with kb.nothing_written():
        refusal = ana.commit(
            {"op": "create", "scope": SCOPE, "name": "New"}, operation[op]
        ).refused(409, "VERSION_CONFLICT")
    details = refusal.details
    assert (details["operation"], details["expectedVersion"]) == (1, 1)
    assert details["currentVersion"] == 0


def test_pages_that_have_ended_are_listed_with_the_ref_they_had(
    kb: KnowledgeBase, ana: Client, asking: Ask
) -> None:
    gone, merged, into = (ana.made(key) for key in ("gone", "merged", "into"))
    below = ana.made("below", parent=into.id)
    read = kb.revision
    ana.delete(gone.id, 1)
    ana.merge(merged.id, into.id, 1)
    ana.delete(below.id, 1)

    def refs(client: Client) -> dict[str, str | None]:
        create = {"op": "create", "scope": SCOPE, "name": "Late"}
        refusal = client.commit(create, expectedRevision=read).refused(409, "REVISION_CONFLICT")
        pages = msgspec.convert(refusal.details["pages"], list[Moved])
        return {page.page_id: page.ref for page in pages}

    assert refs(ana) == {
        gone.id: "org:acme#gone",
        merged.id: "org:acme#merged",
        into.id: "org:acme#into",
        below.id: "org:acme#into/below",
    }
    # Deleted pages are for owners.
    assert refs(asking("user:eve", "editor:acme")) == {into.id: "org:acme#into"}


def test_a_deletion_tells_no_ref_of_a_scope_that_is_hidden(
    kb: KnowledgeBase, ana: Client, asking: Ask
) -> None:
    """The page came from there in the very commit that deleted it."""
    both = asking("user:both", SCOPE, VAULT)
    ana.made("first")
    page = both.made("secret", scope=VAULT)
    read = kb.revision
    both.commit(change("move", page.id, scope=SCOPE, key="plain"), change("delete", page.id))
    (deletion,) = ana.deletions()
    assert deletion.ref == page.id
    create = {"op": "create", "scope": SCOPE, "name": "Late"}
    refusal = ana.commit(create, expectedRevision=read).refused(409, "REVISION_CONFLICT")
    listed = {"pageId": page.id, "ref": page.id, "revision": read + 1}
    assert refusal.details["pages"] == [listed]
    assert [deletion.ref for deletion in both.deletions()] == ["vault:acme#secret"]


# --- dry runs -----------------------------------------------------------------------------------


def test_a_dry_run_tells_what_happens_to_a_page_that_comes_back(ana: Client) -> None:
    page, into = ana.made("page").id, ana.made("into").id
    note = ana.ask("POST", f"/pages/{page}/notes", {"text": "A fact", "scope": [SCOPE]})
    note_id = msgspec.convert(note.json["note"], dict[str, object])["id"]
    ana.ask("PUT", f"/pages/{page}/pins/list", {"audience": [SCOPE], "depth": 2})
    ana.delete(page, 1)
    restore = change("restore", page, "any")
    batches: list[list[Operation]] = [
        [restore, change("edit", page, "any", body="new"), change("delete", page, "any")],
        [restore, {"op": "removeNote", "note": note_id}, change("delete", page, "any")],
        [
            restore,
            {"op": "pin", "page": page, "kind": "list", "audience": [SCOPE], "depth": 3},
            change("delete", page, "any"),
        ],
        [restore, change("merge", page, "any", into=into, intoVersion="any")],
    ]
    for batch in batches:
        told = planned(ana, *batch)
        assert told[0] == "page.restored"
        assert len(told) > 1
        # That a pin goes is told by what ends it.
        told, done = (
            [event for event in events if event != "pin.removed"]
            for events in (told, made(ana, *batch))
        )
        assert told == done


def test_a_dry_run_tells_no_note_that_comes_back_to_others(
    kb: KnowledgeBase, ana: Client, asking: Ask
) -> None:
    both = asking("user:both", SCOPE, VAULT)
    page, into = ana.made("page").id, ana.made("into").id
    both.ask("POST", f"/pages/{page}/notes", {"text": "Hidden", "scope": [VAULT]})
    ana.delete(page, 1)
    batch = [
        change("restore", page, "any"),
        change("merge", page, "any", into=into, intoVersion="any"),
    ]
    assert "note.moved" in planned(both, *batch)
    assert "note.moved" not in planned(ana, *batch)
