"""Notes and pins: what is refused."""

from kbstore.limits import NOTE_TOKENS_MAX
from tests.tools.refusals import (
    A_PAGE_FOR_A_SCOPE,
    ABSENT,
    ADD,
    AMBIGUOUS,
    INVALID,
    LONG_NOTE,
    NOTE,
    PIN,
    PINNED,
    WEAK,
    WHEN,
    Row,
    not_found,
)
from tests.tools.stage import BILLING, ORG, SALES, SUPPORT, VAULT

NOTING = {
    "no page": Row(
        NOTE,
        {"op": "add", "text": "t", "scope": [ORG]},
        INVALID,
        "Adding a note needs page and text.",
        field="page",
    ),
    "no text": Row(
        NOTE,
        {"op": "add", "page": "home", "scope": [ORG]},
        INVALID,
        "Adding a note needs page and text.",
        field="text",
    ),
    "an empty text": Row(NOTE, {**ADD, "text": ""}, INVALID, "Adding a note needs page and text."),
    "a blank text": Row(NOTE, {**ADD, "text": " \n"}, INVALID, "text is empty", field="text"),
    "no stamps": Row(
        NOTE,
        {"op": "add", "page": "home", "text": "t"},
        INVALID,
        "Adding a note needs scope: the stamp scopes.",
        field="scope",
    ),
    "an empty list of stamps": Row(
        NOTE, {**ADD, "scope": []}, INVALID, "Adding a note needs scope: the stamp scopes."
    ),
    "a stamp twice": Row(NOTE, {**ADD, "scope": [ORG, ORG]}, INVALID, "A stamp stands twice."),
    "a page as a stamp": Row(
        NOTE, {**ADD, "scope": ["org:acme#home"]}, INVALID, A_PAGE_FOR_A_SCOPE
    ),
    "a hidden stamp": Row(NOTE, {**ADD, "scope": [ORG, VAULT]}, ABSENT, not_found(VAULT)),
    "an undeclared stamp": Row(
        NOTE, {**ADD, "scope": ["project:x"]}, ABSENT, not_found("project:x")
    ),
    "a text over its limit": Row(
        NOTE, {**ADD, "text": "t" * (4 * NOTE_TOKENS_MAX + 1)}, INVALID, LONG_NOTE, field="text"
    ),
    "a time without a zone": Row(
        NOTE, {**ADD, "when": "2026-10-29T14:30:00"}, INVALID, WHEN, field="when"
    ),
    "a day that is not": Row(NOTE, {**ADD, "when": "2026-02-30"}, INVALID, WHEN),
    "a note ID in an add": Row(
        NOTE, {**ADD, "note": "{note}"}, INVALID, "Adding a note takes no note.", field="note"
    ),
    "a missing page": Row(
        NOTE, {**ADD, "page": "org:acme#nowhere"}, ABSENT, not_found("org:acme#nowhere")
    ),
    "a hidden page": Row(NOTE, {**ADD, "page": "Secret"}, ABSENT, not_found("Secret")),
    "an ambiguous page": Row(
        NOTE, {**ADD, "page": "Chargeback Playbook"}, "AMBIGUOUS_REFERENCE", AMBIGUOUS
    ),
    "a contributor's role to add": Row(
        NOTE,
        {**ADD, "page": "away", "scope": [SUPPORT]},
        WEAK,
        f'Adding a note needs contributor on "{SUPPORT}"; this run has viewer there.',
        "owner",
        "viewer",
    ),
    "a contributor's role on each stamp": Row(
        NOTE,
        {**ADD, "scope": [ORG, BILLING]},
        WEAK,
        f'Adding a note needs contributor on "{BILLING}"; this run has viewer there.',
        "owner",
        "viewer",
    ),
    "no note to restamp": Row(
        NOTE,
        {"op": "restamp", "scope": [ORG]},
        INVALID,
        "Restamping a note needs note: its ID.",
        field="note",
    ),
    "no new stamps": Row(
        NOTE,
        {"op": "restamp", "note": "{note}"},
        INVALID,
        "Restamping a note needs scope: the stamp scopes.",
        field="scope",
    ),
    "a text in a restamp": Row(
        NOTE,
        {
            "op": "restamp",
            "note": "{note}",
            "scope": [ORG],
            "text": "t",
            "when": "2026-10-29",
            "page": "home",
        },
        INVALID,
        "Restamping a note takes no page, text or when.",
    ),
    "an ID that is none": Row(
        NOTE,
        {"op": "restamp", "note": "the first", "scope": [ORG]},
        ABSENT,
        'Knowledge note "the first" not found.',
    ),
    "the ID of a page": Row(
        NOTE, {"op": "remove", "note": "{home}"}, ABSENT, 'Knowledge note "{home}" not found.'
    ),
    "a hidden new stamp": Row(
        NOTE, {"op": "restamp", "note": "{note}", "scope": [VAULT]}, ABSENT, not_found(VAULT)
    ),
    "a hidden note": Row(
        NOTE,
        {"op": "remove", "note": "{away_note}"},
        ABSENT,
        'Knowledge note "{away_note}" not found.',
        "owner",
    ),
    "an editor's role to restamp": Row(
        NOTE,
        {"op": "restamp", "note": "{away_note}", "scope": [SUPPORT]},
        WEAK,
        f'Restamping a note needs editor on "{SUPPORT}"; this run has contributor there.',
        "owner",
        "contributor",
    ),
    "a contributor's role on a new stamp": Row(
        NOTE,
        {"op": "restamp", "note": "{note}", "scope": [ORG, BILLING]},
        WEAK,
        f'Restamping a note needs contributor on "{BILLING}"; this run has viewer there.',
        "editor",
        "viewer",
    ),
    "no note to remove": Row(
        NOTE, {"op": "remove"}, INVALID, "Removing a note needs note: its ID.", field="note"
    ),
    "stamps in a removal": Row(
        NOTE,
        {"op": "remove", "note": "{note}", "scope": [ORG]},
        INVALID,
        "Removing a note takes no scope.",
        field="scope",
    ),
    "an editor's role to remove": Row(
        NOTE,
        {"op": "remove", "note": "{away_note}"},
        WEAK,
        f'Removing a note needs editor on "{SUPPORT}"; this run has viewer there.',
        "owner",
        "viewer",
    ),
}

PINNING = {
    "an audience of no declared type": Row(
        PIN,
        {**PINNED, "audience": ["project:x"]},
        INVALID,
        'Pin audience "project:x" does not match a declared scope type.',
        field="audience",
    ),
    "an audience that is hidden": Row(
        PIN,
        {**PINNED, "audience": [VAULT]},
        INVALID,
        f'Pin audience "{VAULT}" does not match a declared scope type.',
    ),
    "an audience without authority": Row(
        PIN,
        {**PINNED, "audience": [SALES]},
        WEAK,
        f'Pinning for "{SALES}" needs holding it or editor on it; this run has neither.',
    ),
    "no audience": Row(
        PIN,
        {**PINNED, "audience": []},
        INVALID,
        "Pinning needs audience: the scopes whose runs receive it.",
        field="audience",
    ),
    "an audience twice": Row(
        PIN, {**PINNED, "audience": [ORG, ORG]}, INVALID, "An audience scope stands twice."
    ),
    "a depth for a page": Row(
        PIN,
        {**PINNED, "depth": 2},
        INVALID,
        'depth is only for op "pin" with kind "list".',
        field="depth",
    ),
    "a depth in an unpin": Row(
        PIN,
        {**PINNED, "op": "unpin", "kind": "list", "depth": 1},
        INVALID,
        'depth is only for op "pin" with kind "list".',
        field="depth",
    ),
    "a missing page": Row(
        PIN, {**PINNED, "page": "org:acme#nowhere"}, ABSENT, not_found("org:acme#nowhere")
    ),
    "a hidden page": Row(PIN, {**PINNED, "page": "Secret"}, ABSENT, not_found("Secret")),
    "an ambiguous page": Row(
        PIN, {**PINNED, "page": "Chargeback Playbook"}, "AMBIGUOUS_REFERENCE", AMBIGUOUS
    ),
    "an editor's role to pin": Row(
        PIN,
        {**PINNED, "page": "away", "audience": [ORG]},
        WEAK,
        f'Pinning a page needs editor on "{SUPPORT}"; this run has viewer there.',
        "owner",
        "viewer",
    ),
    "an editor's role to unpin": Row(
        PIN,
        {**PINNED, "op": "unpin", "page": "away"},
        WEAK,
        f'Unpinning a page needs editor on "{SUPPORT}"; this run has contributor there.',
        "owner",
        "contributor",
    ),
    "an unpin without authority": Row(
        PIN,
        {**PINNED, "op": "unpin", "audience": [SALES]},
        WEAK,
        f'Pinning for "{SALES}" needs holding it or editor on it; this run has neither.',
    ),
}
