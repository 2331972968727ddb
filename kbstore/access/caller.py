"""Who asks, and what he reaches: computed once per request, then only looked up."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property

import msgspec
from msgspec import Struct

from kbstore.access.configuration import Configuration, Role
from kbstore.access.declarations import is_declared
from kbstore.access.roles import reach_of
from kbstore.errors import NotFoundError, RoleTooWeakError, ValidationError
from kbstore.limits import HELD_SCOPES_MAX, PRINCIPAL_CODE_POINTS_MAX

GRANTS = frozenset(("admin", "auditor"))
"""`admin`: configuration and keys. `auditor`: reads everything, all history; writes nothing."""

OPERATOR = "operator"
"""The grant of who works on the database itself, by the command line: owner of every declared
scope. No key can have it."""

_PRINCIPAL = re.compile(r"(?:agent|user|service):\S(?:.*\S)?")
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def parse_principal(text: str, field: str = "principal") -> str:
    """The id of who acts, in NFC: `agent:`, `user:` or `service:` and a name without invisible
    characters or spaces at its ends. Raises ValidationError for `field`, reason `malformed` or
    `tooLong`."""
    principal = unicodedata.normalize("NFC", text)
    if len(principal) > PRINCIPAL_CODE_POINTS_MAX:
        raise ValidationError(
            f"A principal has at most {PRINCIPAL_CODE_POINTS_MAX} characters.",
            field=field,
            reason="tooLong",
            limit=PRINCIPAL_CODE_POINTS_MAX,
        )
    visible = not any(unicodedata.category(c) in _INVISIBLE for c in principal)
    if not (visible and _PRINCIPAL.fullmatch(principal)):
        raise ValidationError(
            "A principal reads agent:, user: or service: and a name.",
            field=field,
            reason="malformed",
        )
    return principal


class Caller(Struct, frozen=True, kw_only=True):
    """Who acts, with which key, and the scopes and grants he has in this request.

    Raises ValidationError for a grant that does not exist and for over HELD_SCOPES_MAX scopes.
    """

    principal: str
    held: frozenset[str] = frozenset()
    grants: frozenset[str] = frozenset()
    key_id: str = ""

    def __post_init__(self) -> None:
        if unknown := sorted(self.grants - GRANTS - {OPERATOR}):
            raise ValidationError(
                f'"{unknown[0]}" is no grant; there are {", ".join(sorted(GRANTS))}.',
                field="grants",
                reason="unknownValue",
            )
        if len(self.held) > HELD_SCOPES_MAX:
            raise ValidationError(
                f"A run holds at most {HELD_SCOPES_MAX} scopes.",
                field="held",
                reason="tooMany",
                limit=HELD_SCOPES_MAX,
            )

    @property
    def is_operator(self) -> bool:
        return OPERATOR in self.grants

    @property
    def is_admin(self) -> bool:
        return "admin" in self.grants

    @property
    def is_auditor(self) -> bool:
        return "auditor" in self.grants

    def narrow(self, held: Iterable[str]) -> "Caller":
        """The caller with only those of his scopes that are named here; never with others."""
        return msgspec.structs.replace(self, held=self.held.intersection(held))


class Access:
    """What a caller may do where, under one configuration.

    `readable` and `owned` are the addresses among `known`, the scopes that have or had pages
    or are listed; every other question also takes addresses outside of it. Answers only from
    its arguments: make a new one when the configuration, the key or the known scopes change.
    """

    def __init__(self, configuration: Configuration, caller: Caller, known: frozenset[str]) -> None:
        self.configuration = configuration
        self.caller = caller
        self._reach = reach_of(configuration, caller.held)
        roles = {address: self._granted(address) for address in known}
        self.owned = frozenset(a for a, role in roles.items() if role is Role.OWNER)
        self.readable = (
            known if caller.is_auditor else frozenset(a for a, r in roles.items() if r is not None)
        )

    @property
    def is_auditor(self) -> bool:
        return self.caller.is_auditor

    def role(self, address: str) -> Role | None:
        """The role on a scope, None without one; an auditor is a viewer at least."""
        role = self._granted(address)
        return Role.VIEWER if role is None and self.is_auditor else role

    def _granted(self, address: str) -> Role | None:
        if self.caller.is_operator and is_declared(self.configuration, address):
            return Role.OWNER
        return self._reach.role(address)

    def can_read(self, address: str) -> bool:
        return self.role(address) is not None

    def can_read_deleted(self, address: str) -> bool:
        """Whether deleted pages and removed notes of the scope show: to owners and auditors."""
        return self.is_auditor or self.role(address) is Role.OWNER

    def knows_audience(self, address: str) -> bool:
        """Whether the scope shows as audience of a pin: to who can read it or holds it."""
        return address in self.caller.held or self.can_read(address)

    def has_pin_authority(self, address: str) -> bool:
        """Whether the scope can be named as audience: by holding it, or as editor on it."""
        role = self._granted(address)
        return address in self.caller.held or (role is not None and role >= Role.EDITOR)

    def require(self, role: Role, address: str, action: str) -> None:
        """Passes who has the role; `action` starts the refusal: "Editing a page".

        Raises RoleTooWeakError with the sentence of reference 2. A scope the caller cannot
        read should have been answered as not found before; here it is, too (NotFoundError).
        """
        actual = self._granted(address)
        if actual is not None and actual >= role:
            return
        if actual is None and not self.is_auditor:
            raise NotFoundError(f'Knowledge page "{address}" not found.')
        has = "only audits" if actual is None else f"has {actual.word}"
        raise RoleTooWeakError(
            f'{action} needs {role.word} on "{address}"; this run {has} there.',
            scope=address,
            needed=role.word,
            actual=self.standing(address),
        )

    def standing(self, address: str) -> str:
        """The role on a scope in one word: `auditor` for who only audits there, or `none`."""
        role = self._granted(address)
        if role is None:
            return "auditor" if self.is_auditor else "none"
        return role.word

    @cached_property
    def fingerprint(self) -> bytes:
        """32 bytes that differ where what the caller sees can differ; the same in every process.

        Covers readable and owned scopes, held scopes and grants; for ETags, cursors, caches.
        """
        parts = (self.readable, self.owned, self.caller.held, self.caller.grants)
        return hashlib.sha256(msgspec.msgpack.encode([sorted(part) for part in parts])).digest()
