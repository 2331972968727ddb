"""Who acts and where: scopes, callers, and configurations that declare and drop them.

Every text carries a word of its own, so that whatever shows where it should not is noticed.
"""

from kbstore.access import Caller

ORG = "org:acme"
SUPPORT = "team:acme:support"
LEGAL = "team:acme:legal"
INCIDENTS = "team:acme:support/incidents"
LAWSUITS = "team:acme:legal/incidents"
VAULT = "vault:acme"
SCOPES = (ORG, SUPPORT, LEGAL, INCIDENTS, LAWSUITS, VAULT)
TEMPLATE_PATHS = ((), ("policies",), ("policies", "refund"), ("FAQ",), ("codes",))

ANA = Caller(
    principal="user:ana", held=frozenset({ORG, VAULT}), grants=frozenset({"admin"}), key_id="a"
)
BEN = Caller(principal="user:ben", held=frozenset({ORG}), key_id="b")
CARA = Caller(principal="agent:cara", held=frozenset({"contributor:acme", SUPPORT}), key_id="c")
AUDITOR = Caller(principal="service:audit", grants=frozenset({"auditor"}), key_id="d")

WRITERS = (ANA, ANA, BEN, BEN, CARA)
"""Ana owns everything; Ben all but the vault, which he cannot see; Cara contributes to the
organisation and edits one team, and can see neither the other team nor the vault."""

READERS = (BEN, CARA, ANA, AUDITOR)

_HEAD = """
[scopes."org:$org"]
description = "zq1z what everyone reads"
access = [
  { principal = "self", role = "owner" },
  { principal = "contributor:$org", role = "contributor" },
]

[scopes."team:$org:$team"]
displayLabel = "zq2z $team"
belongsTo = "org:$org"
access = [
  { principal = "self", role = "editor" },
  { principal = "org:$org", role = "owner" },
]

[scopes."team:$org:$team".children.incidents]
displayLabel = "zq3z incidents"

[scopes."contributor:$org"]
"""
_VAULT = """
[scopes."vault:$org"]
displayLabel = "zq4z vault"
description = "zq5z kept away"
access = [{ principal = "self", role = "owner" }]
"""
_VAULT_PAGES = """
[[scopes."vault:$org".pages]]
key = "codes"
name = "zq6z codes"
body = "# zq7z\\n\\n[[Refunds]] and [more](faq.md)\\n"
pin = true
"""
_LEGAL_FOR_CARA = """
[scopes."team:acme:legal"]
access = [{ principal = "contributor:acme", role = "viewer" }]
"""
_ORG_PAGES = """
[[scopes."org:$org".pages]]
key = "policies"
name = "Policies"
pin = { kind = "list", depth = 2 }

[[scopes."org:$org".pages.pages]]
key = "refund"
name = "Refunds"
description = "zq8z when money goes back"
body = "# Refunds zq9z\\n\\nSee [the list](../faq.md).\\n"
"""
_TEAM_PAGES = """
[[scopes."team:$org:$team".pages]]
key = "FAQ"
name = "zq10z asked"
"""
_PARTS = (_VAULT_PAGES, _ORG_PAGES, _TEAM_PAGES, _LEGAL_FOR_CARA)
CONFIGURATIONS_MAX = 1 << (len(_PARTS) + 1)
FIRST_WORD = 11
"""The words below are those of the configurations."""


def configuration(number: int) -> str:
    """One of CONFIGURATIONS_MAX configurations, as TOML; 6 is the richest of the quiet ones.

    Each bit drops or adds a part: the lowest drops the vault, so that nobody but an auditor
    reads what it holds.
    """
    parts = [_HEAD]
    if not number & 1:
        parts.append(_VAULT)
        parts.extend(_PARTS[:1] if number & 2 else [])
    for bit, part in enumerate(_PARTS[1:], start=2):
        if number >> bit & 1:
            parts.append(part)
    return "".join(parts)


STARTING_CONFIGURATION = 0b01110
"""The vault and all template pages, and Cara without a role on the legal team."""
