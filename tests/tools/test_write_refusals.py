"""What the tools that write refuse: each sentence of reference 2 with its trigger, and ours."""

from collections.abc import Iterator

import pytest

from api.wiring import Services
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Json, Reply
from tests.tools.messages import documented
from tests.tools.refusals import (
    ADD,
    CREATE,
    DELETE,
    EDIT,
    INVALID,
    NOTE,
    PAGE,
    PIN,
    PINNED,
    RANGE,
    WEAK,
    Row,
    columns,
    lines,
)
from tests.tools.refused_moves import RELOCATING
from tests.tools.refused_notes import NOTING, PINNING
from tests.tools.refused_writes import CREATING, EDITING
from tests.tools.stage import LINES, ORG, Stage, staged

ROWS = {
    f"{what}: {case}": row
    for what, rows in (
        ("create", CREATING),
        ("edit", EDITING),
        ("relocate", RELOCATING),
        ("note", NOTING),
        ("pin", PINNING),
    )
    for case, row in rows.items()
}


@pytest.fixture(scope="module")
def stage(services: Services, url: str) -> Iterator[Stage]:
    with staged(services, url) as stage:
        yield stage


def call(stage: Stage, open_door: OpenDoor, row: Row) -> Reply:
    client = stage.owner if row.org is None else stage.client(row.org, row.team)
    return open_door(client).call(row.tool, stage.arguments(row.arguments))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_refusals(stage: Stage, open_door: OpenDoor, row: Row) -> None:
    with stage.kb.nothing_written():
        reply = call(stage, open_door, row)
    assert (reply.message, reply.code) == (stage.filled(row.message), row.code)
    if row.field is not None:
        assert reply.details["field"] == row.field


def test_the_stage_is_what_the_ranges_count_on() -> None:
    assert len(LINES) == 200
    assert {len(line) for line in LINES} == {35}


# --- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "reason"),
    [
        (PAGE, {"op": "rename", "page": "home"}, "op", "unknownValue"),
        (PAGE, {"page": "home"}, "op", "missing"),
        (PAGE, {**EDIT, "title": "A"}, "title", "unknown"),
        (PAGE, {**EDIT, "onKeyCollision": "fail"}, "onKeyCollision", "unknown"),
        (PAGE, {**EDIT, "name": 1}, "name", "type"),
        (PAGE, {**EDIT, "body": "x", "expectedVersion": -1}, "expectedVersion", "outOfRange"),
        (PAGE, {**EDIT, "body": "x", "expectedVersion": "any"}, "expectedVersion", "type"),
        (PAGE, {**RANGE, "range": lines(0, 1)}, "range.start.line", "outOfRange"),
        (PAGE, {**RANGE, "range": {"start": {"line": 1}}}, "range.end", "missing"),
        (PAGE, {**RANGE, "range": columns((1, -1), (1, 1))}, "range.start.col", "outOfRange"),
        (PAGE, {**EDIT, "page": "p" * 2_001}, "page", "outOfRange"),
        (NOTE, {**ADD, "op": "edit"}, "op", "unknownValue"),
        (NOTE, {**ADD, "scope": ORG}, "scope", "type"),
        (NOTE, {**ADD, "scope": [ORG] * 51}, "scope", "outOfRange"),
        (NOTE, {**ADD, "expectedVersion": 1}, "expectedVersion", "unknown"),
        (PIN, {"op": "pin", "audience": [ORG]}, "page", "missing"),
        (PIN, {"op": "pin", "page": "home"}, "audience", "missing"),
        (PIN, {**PINNED, "kind": "tree"}, "kind", "unknownValue"),
        (PIN, {**PINNED, "kind": "list", "depth": 0}, "depth", "outOfRange"),
        (PIN, {**PINNED, "kind": "list", "depth": 4}, "depth", "outOfRange"),
        (PIN, {**PINNED, "audience": [ORG] * 51}, "audience", "outOfRange"),
    ],
)
def test_shapes(
    stage: Stage, open_door: OpenDoor, tool: str, arguments: Json, field: str, reason: str
) -> None:
    with stage.kb.nothing_written():
        refused = open_door(stage.owner).call(tool, arguments)
    assert refused.code == INVALID
    assert (refused.details["field"], refused.details["reason"]) == (field, reason)


@pytest.mark.parametrize(
    ("tool", "arguments"), [(PAGE, {**EDIT, "body": "x"}), (NOTE, ADD), (PIN, PINNED)]
)
def test_a_run_without_scopes_is_refused(
    stage: Stage, open_door: OpenDoor, tool: str, arguments: Json
) -> None:
    token = stage.kb.token("user:nobody", ())
    client = type(stage.owner)(stage.url, stage.kb.slug, token)
    refused = open_door(client).call(tool, arguments)
    client.close()
    assert refused.code == "RUN_SCOPES_MISSING"
    assert refused.message == (
        "Knowledge tools need run scopes: give the agent or the call `scopes`, "
        "or run it with Memory."
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (PAGE, {**CREATE, "key": "elsewhere"}),
        (PAGE, {**EDIT, "body": "x"}),
        (PAGE, DELETE),
        (NOTE, ADD),
        (NOTE, {"op": "remove", "note": "{note}"}),
        (PIN, PINNED),
    ],
)
def test_an_auditor_writes_nothing(
    stage: Stage, open_door: OpenDoor, tool: str, arguments: Json
) -> None:
    auditor = stage.ask("user:aud", "org-viewer:other", grants=("auditor",))
    with stage.kb.nothing_written():
        refused = open_door(auditor).call(tool, stage.arguments(arguments))
    assert refused.code == WEAK
    assert refused.message.endswith(f' on "{ORG}"; this run only audits there.')


# --- the docs -----------------------------------------------------------------------------------


def test_every_refusal_is_documented(stage: Stage) -> None:
    for case, row in ROWS.items():
        message = str(stage.filled(row.message))
        fits = [each for each in documented(row.tool) if each.fits(message)]
        assert fits, f"{case}: {message}"
        assert row.code in {each.code for each in fits}, case


def test_every_documented_refusal_is_tested(stage: Stage) -> None:
    answered = {(str(stage.filled(row.message)), row.code) for row in ROWS.values()}
    documented_rows = {row for tool in (PAGE, NOTE, PIN) for row in documented(tool)}
    untested = {
        row.message
        for row in documented_rows
        if not any(row.code == code and row.fits(message) for message, code in answered)
    }
    assert untested == ELSEWHERE


ELSEWHERE = {
    # Of runs without scopes, above.
    "Knowledge tools need run scopes: give the agent or the call `scopes`, or run it with Memory.",
    # test_write_rules.py
    "Knowledge record version conflict: <page id>. Nothing was written: you expected version <n>, "
    'and "<ref>" is at version <n> since <principal> changed it at <time>. <what changed, and how '
    "to go on>",
    "Pages nest at most 10 levels below their scope page; this would make <n>.",
    "Moving pages takes at most 500 pages in one operation.",
    *(
        f"{action} a page needs expectedVersion here: the version you read."
        for action in ("Editing", "Moving", "Merging", "Deleting")
    ),
}
"""Documented refusals that other tests are about."""
