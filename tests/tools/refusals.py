"""A call that is refused, and the parts that such calls and their refusals share."""

from msgspec import Struct

from tests.tools.doors import Json
from tests.tools.stage import ORG

PAGE, NOTE, PIN = "knowledge_page", "knowledge_note", "knowledge_pin"
INVALID, ABSENT, WEAK = "VALIDATION_ERROR", "NOT_FOUND", "ROLE_TOO_WEAK"
PART_BY_PART = (
    "Edit the body part by part: write each part back with the range its own read returned."
)
FROM_READ = (
    "Pass a range that a knowledge_read of this version gave you, or a smaller one inside it."
)


class Row(Struct, frozen=True):
    """A call, by a run that owns org:acme and its teams unless roles on them are given; and
    what it is refused with. `{key}` stands for the id of a page of the stage."""

    tool: str
    arguments: Json
    code: str
    message: str
    org: str | None = None
    team: str = "none"
    field: str | None = None


def lines(start: int, end: int) -> Json:
    return {"start": {"line": start}, "end": {"line": end}}


def columns(start: tuple[int, int], end: tuple[int, int]) -> Json:
    spots = [dict(zip(("line", "col"), spot, strict=True)) for spot in (start, end)]
    return {"start": spots[0], "end": spots[1]}


CREATE: Json = {"op": "write", "scope": ORG, "name": "New"}
EDIT: Json = {"op": "write", "page": "home"}
MOVE: Json = {"op": "move", "page": "home", "scope": ORG}
MERGE: Json = {"op": "merge", "page": "home", "into": "long"}
DELETE: Json = {"op": "delete", "page": "home"}
ADD: Json = {"op": "add", "page": "home", "text": "A fact", "scope": [ORG]}
PINNED: Json = {"op": "pin", "page": "home", "audience": [ORG]}
RANGE: Json = {**EDIT, "body": "x", "range": lines(1, 1), "expectedVersion": 1}


def not_found(given: str) -> str:
    return f'Knowledge page "{given}" not found.'


def too_wide(lines: str, spot: str) -> str:
    return (
        f"{lines} run past what one knowledge_read from {spot} shows, so this can't be a range a "
        f"read gave you. {PART_BY_PART}"
    )


AMBIGUOUS = (
    'Knowledge page name "Chargeback Playbook" is ambiguous; use one of these refs: '
    "team:acme:billing#chargeback-playbook, team:acme:support#chargeback-playbook."
)
TAKEN = (
    'Knowledge page key "escalation" already exists under page {top}. Keys are unique among '
    "siblings; pick another key or move one of the pages."
)
NO_RELOCATION = 'Editing a page takes no scope, parent or key; use op "move" to relocate it.'
NOTHING_TO_EDIT = "Editing a page needs at least one of name, description or body."
NUMBERED = (
    "This body still has the line numbers a knowledge_read put in front of each line "
    '("12│"). Write the text without them.'
)
WHOLE = (
    "The stored body is longer than one knowledge_read returns, so it can't be replaced as a "
    f"whole. {PART_BY_PART}"
)
SCOPE_TEXTS = (
    '"org:acme" is a scope page; its name and description come from config, so only its body can '
    "be written."
)
SCOPE_STAYS = "is a scope page; scope pages can't be moved, merged or deleted."
DECLARED = "is declared in config; change the scope's pages to"
LONG_DESCRIPTION = (
    "Knowledge page description exceeds the 100 token limit; put long-form text in the page body"
)
LONG_NOTE = (
    "Knowledge note text exceeds the 250 token limit; split it into separate notes or put "
    "long-form text in the page body"
)
WHEN = (
    "when must be a date, such as 2026-10-29, or a time with a zone, such as 2026-10-29T14:30:00Z."
)
A_PAGE_FOR_A_SCOPE = (
    'scope takes scope addresses, such as org:acme, and "org:acme#home" names a page.'
)
