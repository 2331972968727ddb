"""Creating and editing pages: what is refused."""

from kbstore.limits import DESCRIPTION_TOKENS_MAX, KEY_CODE_POINTS_MAX, NAME_CODE_POINTS_MAX
from tests.tools.refusals import (
    A_PAGE_FOR_A_SCOPE,
    ABSENT,
    AMBIGUOUS,
    CREATE,
    EDIT,
    FROM_READ,
    INVALID,
    LONG_DESCRIPTION,
    NO_RELOCATION,
    NOTHING_TO_EDIT,
    NUMBERED,
    PAGE,
    RANGE,
    SCOPE_TEXTS,
    TAKEN,
    WEAK,
    WHOLE,
    Row,
    columns,
    lines,
    not_found,
    too_wide,
)
from tests.tools.stage import ORG, SUPPORT, VAULT

CREATING = {
    "no scope": Row(
        PAGE,
        {"op": "write", "name": "A"},
        INVALID,
        "Creating a page needs scope and name.",
        field="scope",
    ),
    "no name": Row(
        PAGE,
        {"op": "write", "scope": ORG},
        INVALID,
        "Creating a page needs scope and name.",
        field="name",
    ),
    "an empty name": Row(
        PAGE, {**CREATE, "name": ""}, INVALID, "Creating a page needs scope and name."
    ),
    "a blank name": Row(PAGE, {**CREATE, "name": "  "}, INVALID, "name is empty", field="name"),
    "a name over its limit": Row(
        PAGE,
        {**CREATE, "name": "n" * (NAME_CODE_POINTS_MAX + 1)},
        INVALID,
        "name is 301 characters long; at most 300 are allowed",
    ),
    "a hidden scope": Row(PAGE, {**CREATE, "scope": VAULT}, ABSENT, not_found(VAULT)),
    "an undeclared scope": Row(
        PAGE, {**CREATE, "scope": "project:x"}, ABSENT, not_found("project:x")
    ),
    "no address": Row(
        PAGE,
        {**CREATE, "scope": "acme"},
        INVALID,
        '"acme" is not a scope address; one reads type:name, such as org:acme.',
    ),
    "a page for a scope": Row(
        PAGE, {**CREATE, "scope": "org:acme#home"}, INVALID, A_PAGE_FOR_A_SCOPE, field="scope"
    ),
    "a key with a slash": Row(
        PAGE,
        {**CREATE, "key": "a/b"},
        INVALID,
        'Knowledge page key "a/b" must not contain "/", "#" or "%"',
        field="key",
    ),
    "a key with a hash": Row(
        PAGE,
        {**CREATE, "key": "a#b"},
        INVALID,
        'Knowledge page key "a#b" must not contain "/", "#" or "%"',
    ),
    "a key with a percent": Row(
        PAGE,
        {**CREATE, "key": "a%b"},
        INVALID,
        'Knowledge page key "a%b" must not contain "/", "#" or "%"',
    ),
    "a key over its limit": Row(
        PAGE,
        {**CREATE, "key": "k" * (KEY_CODE_POINTS_MAX + 1)},
        INVALID,
        "key is 101 characters long; at most 100 are allowed",
    ),
    "a key that is taken": Row(PAGE, {**CREATE, "key": "escalation"}, "KEY_TAKEN", TAKEN),
    "a key that is taken in capitals": Row(
        PAGE,
        {**CREATE, "key": "Escalation"},
        "KEY_TAKEN",
        TAKEN.replace('"escalation"', '"Escalation"'),
    ),
    "a missing parent": Row(
        PAGE,
        {**CREATE, "parent": "org:acme#nowhere"},
        "PARENT_NOT_FOUND",
        not_found("org:acme#nowhere"),
    ),
    "a hidden parent": Row(
        PAGE, {**CREATE, "parent": "Secret"}, "PARENT_NOT_FOUND", not_found("Secret")
    ),
    "a parent id that is none": Row(
        PAGE,
        {**CREATE, "parent": "01a22f6f-1468-709d-8ad9-22214378e026"},
        "PARENT_NOT_FOUND",
        not_found("01a22f6f-1468-709d-8ad9-22214378e026"),
    ),
    "a deleted parent": Row(
        PAGE, {**CREATE, "parent": "{gone}"}, "PARENT_DELETED", 'The parent "{gone}" was deleted.'
    ),
    "a parent of another scope": Row(
        PAGE,
        {**CREATE, "parent": "away"},
        INVALID,
        f'The parent "away" is not in "{ORG}".',
        field="parent",
    ),
    "an ambiguous parent": Row(
        PAGE,
        {**CREATE, "scope": SUPPORT, "parent": "Chargeback Playbook"},
        "AMBIGUOUS_REFERENCE",
        AMBIGUOUS,
    ),
    "a description over its limit": Row(
        PAGE, {**CREATE, "description": "d" * 401}, INVALID, LONG_DESCRIPTION, field="description"
    ),
    "a numbered body": Row(
        PAGE, {**CREATE, "body": "1│one\n\n2│two"}, INVALID, NUMBERED, field="body"
    ),
    "a range": Row(
        PAGE,
        {**CREATE, "range": lines(1, 1)},
        INVALID,
        "Creating a page takes no range.",
        field="range",
    ),
    "a version and a target": Row(
        PAGE,
        {**CREATE, "into": "home", "expectedVersion": 1},
        INVALID,
        "Creating a page takes no into or expectedVersion.",
    ),
    "a contributor's role": Row(
        PAGE,
        CREATE,
        WEAK,
        f'Creating a page needs contributor on "{ORG}"; this run has viewer there.',
        "viewer",
    ),
}

EDITING = {
    "nothing to edit": Row(PAGE, EDIT, INVALID, NOTHING_TO_EDIT, field="body"),
    "a version alone": Row(PAGE, {**EDIT, "expectedVersion": 1}, INVALID, NOTHING_TO_EDIT),
    "a scope": Row(
        PAGE, {**EDIT, "name": "A", "scope": ORG}, INVALID, NO_RELOCATION, field="scope"
    ),
    "a parent": Row(PAGE, {**EDIT, "parent": "long"}, INVALID, NO_RELOCATION, field="parent"),
    "a key": Row(PAGE, {**EDIT, "key": "k"}, INVALID, NO_RELOCATION, field="key"),
    "a target": Row(
        PAGE,
        {**EDIT, "name": "A", "into": "long"},
        INVALID,
        "Editing a page takes no into.",
        field="into",
    ),
    "a path that leads nowhere": Row(
        PAGE,
        {**EDIT, "page": "org:acme#policies/escalation", "body": "x"},
        ABSENT,
        not_found("org:acme#policies/escalation"),
    ),
    "a hidden path": Row(
        PAGE,
        {**EDIT, "page": "vault:acme#secret", "body": "x"},
        ABSENT,
        not_found("vault:acme#secret"),
    ),
    "a hidden name": Row(
        PAGE, {**EDIT, "page": "Secret", "body": "x"}, ABSENT, not_found("Secret")
    ),
    "a hidden id": Row(
        PAGE, {**EDIT, "page": "{secret}", "body": "x"}, ABSENT, not_found("{secret}")
    ),
    "a deleted page": Row(
        PAGE, {**EDIT, "page": "{gone}", "body": "x"}, ABSENT, not_found("{gone}")
    ),
    "a page that was moved": Row(
        PAGE,
        {**EDIT, "page": "org:acme#wanderer", "body": "x"},
        ABSENT,
        f"{not_found('org:acme#wanderer')} It was moved to org:acme#long/wanderer.",
    ),
    "a page that was merged": Row(
        PAGE,
        {**EDIT, "page": "org:acme#merged", "body": "x"},
        ABSENT,
        f"{not_found('org:acme#merged')} It was merged into {{kept}}.",
    ),
    "an argument that there is not": Row(
        PAGE, {**EDIT, "title": "A"}, INVALID, "There is no field title here.", field="title"
    ),
    "no operation": Row(PAGE, {"page": "home"}, INVALID, "op is missing.", field="op"),
    "a name in other letters": Row(
        PAGE, {**EDIT, "page": "ESCALATION", "body": "x"}, ABSENT, not_found("ESCALATION")
    ),
    "an ambiguous name": Row(
        PAGE, {**EDIT, "page": "Chargeback Playbook", "body": "x"}, "AMBIGUOUS_REFERENCE", AMBIGUOUS
    ),
    "a name for a scope page": Row(
        PAGE,
        {**EDIT, "page": ORG, "name": "A"},
        "SCOPE_PAGE",
        SCOPE_TEXTS,
    ),
    "a description for a scope page": Row(
        PAGE,
        {**EDIT, "page": ORG, "description": "A", "body": "b"},
        "SCOPE_PAGE",
        SCOPE_TEXTS,
    ),
    "a blank name": Row(PAGE, {**EDIT, "name": " "}, INVALID, "name is empty"),
    "a description over its limit": Row(
        PAGE,
        {**EDIT, "description": "d" * (4 * DESCRIPTION_TOKENS_MAX + 1)},
        INVALID,
        LONG_DESCRIPTION,
    ),
    "a numbered body": Row(PAGE, {**EDIT, "body": "12│one"}, INVALID, NUMBERED),
    "a numbered part": Row(PAGE, {**RANGE, "body": "1│one"}, INVALID, NUMBERED),
    "a whole body over a long one": Row(
        PAGE, {**EDIT, "page": "long", "body": "short"}, INVALID, WHOLE, field="body"
    ),
    "a whole body over a long one with its version": Row(
        PAGE, {**EDIT, "page": "long", "body": "short", "expectedVersion": 1}, INVALID, WHOLE
    ),
    "an empty body over a long one": Row(
        PAGE, {**EDIT, "page": "long", "body": ""}, INVALID, WHOLE
    ),
    "a range without a body": Row(
        PAGE,
        {**EDIT, "range": lines(1, 1), "expectedVersion": 1},
        INVALID,
        "A range needs body: the text to put in place of those lines.",
        field="body",
    ),
    "a range without a version": Row(
        PAGE,
        {**EDIT, "body": "x", "range": lines(1, 1)},
        INVALID,
        "A range needs expectedVersion: the version it was read from.",
        field="expectedVersion",
    ),
    "a range that starts after it ends": Row(
        PAGE,
        {**RANGE, "range": lines(3, 2)},
        INVALID,
        f"The range starts after it ends. {FROM_READ}",
        field="range",
    ),
    "a range that starts after it ends within a line": Row(
        PAGE,
        {**RANGE, "range": columns((1, 2), (1, 1))},
        INVALID,
        f"The range starts after it ends. {FROM_READ}",
    ),
    "a range past the end": Row(
        PAGE,
        {**RANGE, "range": lines(2, 4)},
        INVALID,
        f"The range runs past the end of the body, which has 3 lines. {FROM_READ}",
    ),
    "a range past the end of a line": Row(
        PAGE,
        {**RANGE, "range": columns((1, 0), (1, 4))},
        INVALID,
        f"The range runs past the end of line 1, which has 3 characters. {FROM_READ}",
    ),
    "a range wider than a read": Row(
        PAGE,
        {**RANGE, "page": "long", "range": lines(1, 150)},
        INVALID,
        too_wide("Lines 1–150", "line 1"),
        field="range",
    ),
    "a range wider than a read from further down": Row(
        PAGE,
        {**RANGE, "page": "long", "range": lines(7, 199)},
        INVALID,
        too_wide("Lines 7–199", "line 7"),
    ),
    "a whole line that no read shows": Row(
        PAGE,
        {**RANGE, "page": "wide", "range": lines(1, 1)},
        INVALID,
        too_wide("Lines 1–1", "line 1"),
    ),
    "a part of a line that no read shows": Row(
        PAGE,
        {**RANGE, "page": "wide", "range": columns((1, 100), (1, 9_000))},
        INVALID,
        too_wide("Columns 100–9000 of line 1", "line 1, column 100"),
    ),
    "a range of a page that was never written": Row(
        PAGE,
        {**RANGE, "page": "org:acme#policies", "expectedVersion": 0},
        INVALID,
        "The page was never written, so its version does not name one text; send the whole body.",
        field="range",
    ),
    "an editor's role": Row(
        PAGE,
        {**EDIT, "page": "away", "name": "A"},
        WEAK,
        f'Editing a page needs editor on "{SUPPORT}"; this run has viewer there.',
        "owner",
        "viewer",
    ),
    "a role that comes before what was asked": Row(
        PAGE,
        {**EDIT, "page": "away", "scope": ORG},
        WEAK,
        f'Editing a page needs editor on "{SUPPORT}"; this run has contributor there.',
        "owner",
        "contributor",
    ),
}
