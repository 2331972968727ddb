"""Moving, merging and deleting pages: what is refused."""

from tests.tools.refusals import (
    A_PAGE_FOR_A_SCOPE,
    ABSENT,
    DECLARED,
    DELETE,
    INVALID,
    MERGE,
    MOVE,
    PAGE,
    SCOPE_STAYS,
    TAKEN,
    WEAK,
    Row,
    not_found,
)
from tests.tools.stage import ORG, SUPPORT, VAULT

RELOCATING = {
    "no page to move": Row(
        PAGE,
        {"op": "move", "scope": ORG},
        INVALID,
        "Moving a page needs page: the page to move.",
        field="page",
    ),
    "no destination": Row(
        PAGE,
        {"op": "move", "page": "home", "parent": "long"},
        INVALID,
        "Moving a page needs the destination scope.",
        field="scope",
    ),
    "a name in a move": Row(
        PAGE,
        {**MOVE, "name": "A", "body": "b"},
        INVALID,
        "Moving a page takes no name or body.",
        field="name",
    ),
    "a move to a hidden scope": Row(PAGE, {**MOVE, "scope": VAULT}, ABSENT, not_found(VAULT)),
    "a move to a page": Row(PAGE, {**MOVE, "scope": "org:acme#home"}, INVALID, A_PAGE_FOR_A_SCOPE),
    "a move of a hidden page": Row(
        PAGE, {**MOVE, "page": "vault:acme#secret"}, ABSENT, not_found("vault:acme#secret")
    ),
    "a move under a missing parent": Row(
        PAGE, {**MOVE, "parent": "Nobody"}, "PARENT_NOT_FOUND", not_found("Nobody")
    ),
    "a move under a parent elsewhere": Row(
        PAGE, {**MOVE, "parent": "away"}, INVALID, f'The parent "away" is not in "{ORG}".'
    ),
    "a move under itself": Row(
        PAGE,
        {**MOVE, "page": "Escalation", "parent": "steps"},
        "WOULD_CREATE_CYCLE",
        "A page cannot come to stand under itself or under a page below it.",
    ),
    "a move onto a taken key": Row(PAGE, {**MOVE, "key": "escalation"}, "KEY_TAKEN", TAKEN),
    "a move to a bad key": Row(
        PAGE,
        {**MOVE, "key": "a/b"},
        INVALID,
        'Knowledge page key "a/b" must not contain "/", "#" or "%"',
    ),
    "a move of a scope page": Row(
        PAGE, {**MOVE, "page": ORG, "parent": "home"}, "SCOPE_PAGE", f'"org:acme" {SCOPE_STAYS}'
    ),
    "a move of a scope page elsewhere": Row(
        PAGE, {**MOVE, "page": ORG, "scope": SUPPORT}, "SCOPE_PAGE", f'"org:acme" {SCOPE_STAYS}'
    ),
    "a move of a template page": Row(
        PAGE,
        {**MOVE, "page": "org:acme#policies/refund"},
        "PAGE_DECLARED",
        f'"org:acme#policies/refund" {DECLARED} move it.',
    ),
    "an editor's role to move": Row(
        PAGE,
        MOVE,
        WEAK,
        f'Moving a page needs editor on "{ORG}"; this run has contributor there.',
        "contributor",
    ),
    "an owner's role to move away": Row(
        PAGE,
        {**MOVE, "scope": SUPPORT},
        WEAK,
        f'Moving a page across scopes needs owner on "{ORG}"; this run has editor there.',
        "editor",
        "owner",
    ),
    "an owner's role to move there": Row(
        PAGE,
        {**MOVE, "scope": SUPPORT},
        WEAK,
        f'Moving a page across scopes needs owner on "{SUPPORT}"; this run has editor there.',
        "owner",
        "editor",
    ),
    "no page to merge": Row(
        PAGE,
        {"op": "merge", "into": "home"},
        INVALID,
        "Merging needs page: the page that goes away.",
        field="page",
    ),
    "no page to remain": Row(
        PAGE,
        {"op": "merge", "page": "home"},
        INVALID,
        "Merging needs into: the page that remains.",
        field="into",
    ),
    "a scope in a merge": Row(
        PAGE, {**MERGE, "scope": ORG}, INVALID, "Merging a page takes no scope.", field="scope"
    ),
    "a body in a merge": Row(
        PAGE,
        {**MERGE, "key": "k", "description": "d", "body": "b"},
        INVALID,
        "Merging a page takes no key, description or body.",
    ),
    "a merge into a hidden page": Row(
        PAGE, {**MERGE, "into": "Secret"}, ABSENT, not_found("Secret")
    ),
    "a merge into itself": Row(
        PAGE,
        {**MERGE, "into": "home"},
        "WOULD_CREATE_CYCLE",
        "A page cannot come to stand under itself or under a page below it.",
    ),
    "a merge into a page below": Row(
        PAGE,
        {**MERGE, "page": "Escalation", "into": "steps"},
        "WOULD_CREATE_CYCLE",
        "A page cannot come to stand under itself or under a page below it.",
    ),
    "a merge of a scope page": Row(
        PAGE, {**MERGE, "page": ORG}, "SCOPE_PAGE", f'"org:acme" {SCOPE_STAYS}'
    ),
    "a merge of a template page": Row(
        PAGE,
        {**MERGE, "page": "org:acme#policies/refund"},
        "PAGE_DECLARED",
        f'"org:acme#policies/refund" {DECLARED} remove it.',
    ),
    "an owner's role to merge": Row(
        PAGE,
        {**MERGE, "page": "away", "into": "team:acme:support#chargeback-playbook"},
        WEAK,
        f'Merging a page away needs owner on "{SUPPORT}"; this run has editor there.',
        "owner",
        "editor",
    ),
    "an owner's role to merge across": Row(
        PAGE,
        {**MERGE, "into": "away"},
        WEAK,
        f'Merging a page across scopes needs owner on "{SUPPORT}"; this run has editor there.',
        "owner",
        "editor",
    ),
    "no page to delete": Row(
        PAGE,
        {"op": "delete"},
        INVALID,
        "Deleting a page needs page: the page to delete.",
        field="page",
    ),
    "a body in a delete": Row(
        PAGE,
        {**DELETE, "parent": "long", "body": ""},
        INVALID,
        "Deleting a page takes no parent or body.",
    ),
    "a delete with pages below": Row(
        PAGE,
        {**DELETE, "page": "Escalation"},
        "PAGE_HAS_CHILDREN",
        '"Escalation" has child pages; move or delete them first.',
    ),
    "a delete of a scope page": Row(
        PAGE, {**DELETE, "page": ORG}, "SCOPE_PAGE", f'"org:acme" {SCOPE_STAYS}'
    ),
    "a delete of a template page": Row(
        PAGE,
        {**DELETE, "page": "org:acme#policies/refund"},
        "PAGE_DECLARED",
        f'"org:acme#policies/refund" {DECLARED} remove it.',
    ),
    "a second delete": Row(PAGE, {**DELETE, "page": "{gone}"}, ABSENT, not_found("{gone}")),
    "an owner's role to delete": Row(
        PAGE,
        DELETE,
        WEAK,
        f'Deleting a page needs owner on "{ORG}"; this run has editor there.',
        "editor",
    ),
}
