"""Values to tell a history with: ids, clocks, texts and a configuration, the same every time."""

from uuid import UUID, uuid5

from kbstore.access import Configuration, dump_configuration, load_configuration
from kbstore.domain.commands import Configure, CreatePage, Expected, PageTarget
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.texts import PreparedBody, PreparedText, prepare_text

KB = UUID("00000000-0000-7000-8000-00000000cafe")
"""The knowledge base that every story is told of."""

SCOPE = "org:acme"
HELD = (SCOPE, "vault:acme")
"""What a run of a story holds unless told otherwise: it owns every scope of `org:acme`."""

CONFIGURATION = """
[scopes."org:$org"]
displayLabel = "$org"
description = "What everyone at the organisation may read."
access = [
  { principal = "self", role = "owner" },
  { principal = "editor:$org", role = "editor" },
  { principal = "contributor:$org", role = "contributor" },
  { principal = "viewer:$org", role = "viewer" },
]

[[scopes."org:$org".pages]]
key = "policies"
name = "Policies"

[[scopes."org:$org".pages.pages]]
key = "refund"
name = "Refunds"
description = "When money goes back."
body = "# Refunds\\n\\nWithin 30 days. See [the guide](../guide.md).\\n"

[scopes."team:$org:$team"]
belongsTo = "org:$org"
access = [
  { principal = "self", role = "editor" },
  { principal = "org:$org", role = "owner" },
  { principal = "editor:$org", role = "editor" },
  { principal = "contributor:$org", role = "contributor" },
  { principal = "viewer:$org", role = "viewer" },
]

[scopes."vault:$org"]
access = [{ principal = "self", role = "owner" }]

[scopes."role:$org:$name"]
[scopes."editor:$org"]
[scopes."contributor:$org"]
[scopes."viewer:$org"]
"""
"""Holding `editor:acme`, `contributor:acme` or `viewer:acme` gives that role on `org:acme` and
its teams, `org:acme` itself owner. `vault:acme` is read by none but those who hold it, and
`role:acme:sales` is an audience nobody has a role on. Below `org:acme` two template pages are
declared: `policies` and `policies/refund`."""

_TEXTS = UUID("00000000-0000-8000-8000-000000007e87")


def configuration() -> Configuration:
    """CONFIGURATION, loaded."""
    return load_configuration(CONFIGURATION, "toml")


def configure(source: str, expected_revision: Expected = None) -> Configure:
    """The command that replaces the configuration by one written as TOML."""
    canonical = dump_configuration(load_configuration(source, "toml"))
    return Configure(configuration=text(canonical), expected_revision=expected_revision)


class SequentialIds:
    """Ids 1, 2, 3 ... in the shape of UUIDv7, and salts that count alike."""

    def __init__(self, first: int = 1) -> None:
        self._next = first

    def new_id(self) -> UUID:
        made = nth_id(self._next)
        self._next += 1
        return made

    def new_salt(self) -> bytes:
        salt = self._next.to_bytes(16)
        self._next += 1
        return salt


def nth_id(number: int) -> UUID:
    """The id that SequentialIds makes at this number."""
    return UUID(int=number | 0x7 << 76 | 0x2 << 62)


class SteppingClock:
    """A clock that goes on by `step` microseconds each time it is read."""

    def __init__(self, start: int = 1_767_225_600_000_000, step: int = 1_000_000) -> None:
        self._now = start - step
        self._step = step

    def now(self) -> int:
        self._now += self._step
        return self._now


class _IdsOfText:
    """Ids that depend on the text alone, so that `text("a").ref` is the same wherever asked."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._made = 0

    def new_id(self) -> UUID:
        self._made += 1
        return uuid5(_TEXTS, f"{self._made}\n{self._value}")

    def new_salt(self) -> bytes:
        return bytes(16)


def text(value: str) -> PreparedText:
    """A prepared name or description; equal texts have equal refs.

    So a text that is used twice is one text: for a store in memory, not for a real one.
    """
    return prepare_text(value, _IdsOfText(value))


def body(value: str) -> PreparedBody:
    """A prepared body, with its links, lines and tokens."""
    return prepare_body(value, _IdsOfText(value))


def note_text(value: str) -> PreparedText:
    """The prepared text of a note, with its links."""
    return prepare_note_text(value, _IdsOfText(value))


def page(
    name: str,
    *,
    scope: str = SCOPE,
    parent: PageTarget | None = None,
    key: str | None = None,
    description: str | None = None,
    content: str | None = None,
) -> CreatePage:
    """The command that creates a page, from plain text."""
    return CreatePage(
        scope=scope,
        parent=parent,
        key=key,
        name=text(name),
        description=None if description is None else text(description),
        body=None if content is None else body(content),
    )
