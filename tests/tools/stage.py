"""A knowledge base with one of everything that a tool can be refused for.

Refusals write nothing, so that one stage serves all tests of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from api.wiring import Services
from tests.asking import Ask, Client, asking_at
from tests.knowledge import KnowledgeBase
from tests.tools.doors import Json

ORG, SUPPORT, BILLING = "org:acme", "team:acme:support", "team:acme:billing"
VAULT, SALES = "vault:acme", "role:acme:sales"

ROLES = ("none", "viewer", "contributor", "editor", "owner")

CONFIGURATION = """
[settings]
requireExpectedVersion = {required}

[scopes."org:$org"]
access = [
  { principal = "self", role = "owner" },
  { principal = "org-viewer:$org", role = "viewer" },
  { principal = "org-contributor:$org", role = "contributor" },
  { principal = "org-editor:$org", role = "editor" },
  { principal = "org-owner:$org", role = "owner" },
]

[[scopes."org:$org".pages]]
key = "policies"
name = "Policies"
description = "What holds for everybody"
body = "Declared"

[[scopes."org:$org".pages.pages]]
key = "refund"
name = "Refund"
body = "{long}"

[scopes."team:$org:$team"]
access = [
  { principal = "self", role = "owner" },
  { principal = "org:$org", role = "owner" },
  { principal = "team-viewer:$org", role = "viewer" },
  { principal = "team-contributor:$org", role = "contributor" },
  { principal = "team-editor:$org", role = "editor" },
  { principal = "team-owner:$org", role = "owner" },
]

[scopes."vault:$org"]
access = [{ principal = "self", role = "owner" }]

[scopes."role:$org:$role"]
access = [{ principal = "org:$org", role = "viewer" }]
"""
for _where in ("org", "team"):
    CONFIGURATION += "".join(f'\n[scopes."{_where}-{role}:$org"]\n' for role in ROLES[1:])

DECLARED_LONG = "word " * 1_000
LINES = [f"line {number:03} with some more words in it" for number in range(1, 201)]
LONG = "\n".join(LINES)
"""200 lines, of which one read shows some hundred; one such line is 36 characters."""
WIDE = "x" * 9_000
"""One line that takes three reads."""


def configuration(*, required: bool = False) -> str:
    return CONFIGURATION.replace("{required}", str(required).lower()).replace(
        "{long}", DECLARED_LONG
    )


def held(org: str = "none", team: str = "none") -> tuple[str, ...]:
    """What a run holds to have these roles on org:acme and on its teams."""
    scopes = [f"org-{org}:acme"] * (org != "none") + [f"team-{team}:acme"] * (team != "none")
    return tuple(scopes) or ("org-viewer:other",)


class Stage:
    """The pages by key, with `notes` on `home` by what they say."""

    def __init__(self, kb: KnowledgeBase, url: str, ask: Ask) -> None:
        self.kb = kb
        self.url = url
        self.ask = ask
        self.owner = ask("user:ana", ORG)
        owner = self.owner
        self.names: dict[str, str] = {}
        self._make("home", body="one\ntwo\nthree", description="Old")
        self._make("escalation", name="Escalation")
        self._make("steps", parent=self.names["escalation"])
        self._make("long", body=LONG)
        self._make("wide", body=WIDE)
        self._make("edited", body="one\ntwo\nthree\nfour\nfive")
        owner.edit(self.names["edited"], 1, body="ONE\ntwo\nthree\nfour\nfive")
        self._make("gone")
        owner.delete(self.names["gone"])
        self._make("wanderer")
        owner.move(self.names["wanderer"], parent=self.names["long"])
        self._make("kept")
        self._make("merged")
        owner.merge(self.names["merged"], self.names["kept"])
        self._make("away", scope=SUPPORT)
        for scope in (BILLING, SUPPORT):
            self._make("chargeback-playbook", scope=scope, name="Chargeback Playbook")
        ask("user:eve", VAULT).made("secret", scope=VAULT, name="Secret")
        self.names["note"] = self._note("home", ORG, SUPPORT)
        self.names["away_note"] = self._note("away", SUPPORT)
        self.names["top"] = owner.page_at(ORG).id

    def client(self, org: str = "none", team: str = "none", *more: str) -> Client:
        """A run with these roles on org:acme and on its teams, which holds more besides."""
        return self.ask("user:kim", *held(org, team), *more)

    def filled(self, value: object) -> object:
        """Arguments or a message with `{key}` as the id of that page."""
        if isinstance(value, str):
            for name, page_id in self.names.items():
                value = value.replace(f"{{{name}}}", page_id)
            return value
        if isinstance(value, Mapping):
            return {name: self.filled(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        return value

    def arguments(self, given: Json) -> Json:
        filled = self.filled(given)
        assert isinstance(filled, dict)
        return filled

    def _make(self, key: str, **fields: object) -> None:
        self.names[key] = self.owner.made(key, **fields).id

    def _note(self, page: str, *stamps: str) -> str:
        body = {"text": f"On {page}", "scope": list(stamps)}
        answer = self.owner.ask("POST", f"/pages/{self.names[page]}/notes", body)
        note = answer.json["note"]
        assert isinstance(note, dict)
        return str(note["id"])


@contextmanager
def staged(services: Services, url: str, *, required: bool = False) -> Iterator[Stage]:
    kb = KnowledgeBase(services, configuration(required=required))
    with asking_at(url, kb) as ask:
        yield Stage(kb, url, ask)
