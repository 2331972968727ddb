"""Scopes that nobody listed: a rule that leaves a parameter open gives them all away."""

from kbstore.limits import SCOPE_ADDRESS_CODE_POINTS_MAX

OPEN = """
[scopes."org:$org"]

[scopes."open:$org:$topic"]
access = [{ principal = "org:$org", role = "owner" }]
"""
"""Whoever holds `org:acme` owns every `open:acme:...`."""

NO_ADDRESSES = [
    ("open:acme:x#y", "character"),
    ("open:acme:x y", "character"),
    ("open:acme:$topic", "character"),
    ("open:acme:x,y", "character"),
    ("open:acme:x\u200b", "character"),
    ("open:acme:x\0", "character"),
    ("open:acme:", "malformed"),
    ("open:acme:..", "malformed"),
    ("open", "malformed"),
    ("open:acme:" + "x" * SCOPE_ADDRESS_CODE_POINTS_MAX, "tooLong"),
]
"""Texts that such a pattern matches or nearly does, each with the reason it is refused for."""
