"""Who there is and what is declared: scopes that the reader may read, and some that he may not.

Ben writes what both worlds have. He owns every scope the reader can read and knows no other, so
that nothing he does depends on what is hidden: a writer who reads the vault may well write of it
where others read. Ana owns everything, the vault and the crypt as well.
"""

from random import Random

from msgspec import Struct

from kbstore.access import Caller

ORG, TEAM, GUILD = "org:acme", "team:acme:support", "guild:acme"
VAULT, TOMB, CRYPT = "vault:acme", "tomb:acme", "crypt:acme"
OPEN = (ORG, TEAM, GUILD)
CLOSED = (VAULT, TOMB, CRYPT)
TWINS = (VAULT, TOMB)
"""Where what both worlds have may stand in one of them, and in the other."""
ROLES = ("none", "viewer", "contributor", "editor", "owner")

GROUND = (
    *((ORG, key) for key in ("faq", "handbook", "travel", "a")),
    *((TEAM, key) for key in ("faq", "a", "b")),
    (GUILD, "a"),
)
"""Pages that every story begins with, so that each open scope has something from the start; of
two of the scopes one is deleted again."""

ANA = Caller(principal="user:ana", held=frozenset({*OPEN, *CLOSED}), key_id="ana")
BEN = Caller(principal="user:ben", held=frozenset(OPEN), key_id="ben")
ROOT = Caller(principal="user:root", grants=frozenset({"admin"}), key_id="root")

_RULES = "".join(
    f'  {{ principal = "WHERE-{role}:$org", role = "{role}" }},\n' for role in ROLES[1:]
)


def _rules(where: str) -> str:
    return _RULES.replace("WHERE", where)


CONFIGURATION = f"""
[scopes."org:$org"]
description = "What everyone reads"
access = [
  {{ principal = "self", role = "owner" }},
{_rules("org")}]

[[scopes."org:$org".pages]]
key = "policies"
name = "Policies"
body = "What holds: amber"

[[scopes."org:$org".pages.pages]]
key = "refund"
name = "Refunds"
description = "When money goes back"
body = "See [[Handbook]], amber"

[scopes."team:$org:$team"]
belongsTo = "org:$org"
access = [
  {{ principal = "self", role = "owner" }},
{_rules("team")}]

[scopes."guild:$org"]
access = [
  {{ principal = "self", role = "owner" }},
{_rules("guild")}]

[[scopes."guild:$org".pages]]
key = "oath"
name = "Oath"
body = "Amber and basalt"
pin = true

[scopes."vault:$org"]
belongsTo = "org:$org"
access = [{{ principal = "self", role = "owner" }}]

[[scopes."vault:$org".pages]]
key = "codes"
name = "Refunds"
body = "Amber [[Handbook]]"
pin = true

[scopes."tomb:$org"]
access = [{{ principal = "self", role = "owner" }}]

[scopes."crypt:$org"]
access = [{{ principal = "self", role = "owner" }}]
""" + "".join(
    f'\n[scopes."{where}-{role}:$org"]\n'
    for where in ("org", "team", "guild")
    for role in ROLES[1:]
)


class Reader(Struct, frozen=True):
    """Who asks. `roles` are his, by open scope; an admin reads the configuration besides."""

    held: frozenset[str]
    roles: dict[str, str]
    is_admin: bool

    @property
    def grants(self) -> frozenset[str]:
        return frozenset({"admin"}) if self.is_admin else frozenset()

    def owns(self, scope: str) -> bool:
        return self.roles.get(scope) == "owner"

    def reads(self, scope: str) -> bool:
        return self.roles.get(scope, "none") != "none"

    def scopes(self, *roles: str) -> tuple[str, ...]:
        """The open scopes on which he has one of these roles."""
        return tuple(scope for scope in OPEN if self.roles[scope] in roles)


def draw_reader(random: Random) -> Reader:
    """Mostly an owner somewhere, so that writes of every kind go through now and then."""
    org = random.choices(ROLES, (0, 3, 2, 3, 6))[0]
    team = random.choices(ROLES, (3, 2, 1, 2, 6))[0]
    guild = random.choices(ROLES, (0, 0, 3, 2, 1))[0]
    roles = {ORG: org, TEAM: team, GUILD: guild}
    held = {f"org-{org}:acme", f"guild-{guild}:acme"}
    if team != "none":
        held.add(f"team-{team}:acme")
    # A run that holds the guild itself owns it, and gets what is pinned for it.
    if random.random() < 0.5:
        held.add(GUILD)
        roles[GUILD] = "owner"
    return Reader(frozenset(held), roles, random.random() < 0.45)
