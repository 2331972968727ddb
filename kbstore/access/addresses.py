"""Scope addresses, and the patterns a configuration declares them by.

    address  = type ":" segment *( ":" segment ) *( "/" segment )
    pattern  = the same, where a segment right of the type may be a parameter: "$" name

`team:acme:support` is a scope, `team:acme:support/incidents` a child scope of it. A segment is
any text in NFC but: empty, `.` or `..`, and without white space, control and other invisible
characters, and `: / # $ ,`. `#` ends the address in a page's ref, `$` marks a parameter and `,`
parts addresses in a header. `%` is allowed, as file paths write it `%25`. Case counts: these
are identifiers of other systems, so folding them could make two principals one.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from kbstore.errors import ValidationError
from kbstore.limits import SCOPE_ADDRESS_CODE_POINTS_MAX

_RESERVED = frozenset(":/#$,")
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zs", "Zl", "Zp"))
_PARAMETER_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PARAMETER = re.compile(rf"\${_PARAMETER_NAME}")
_PARAMETER_IN_TEXT = re.compile(rf"\$({_PARAMETER_NAME})")


def parse_address(text: str, field: str) -> str:
    """The address in NFC; it names one scope, declared or not.

    Raises ValidationError for `field` with reason `tooLong`, `malformed` (no type, an empty
    segment, `.` or `..`) or `character`.
    """
    return _parse(text, field, parameters=False)


def is_address(text: str) -> bool:
    """Whether `text` is a scope address as it stands, already in NFC."""
    try:
        return parse_address(text, "scope") == text
    except ValidationError:
        return False


@lru_cache(maxsize=65_536)
def split_address(address: str) -> tuple[tuple[str, ...], str]:
    """The segments of the scope, type first, and the path of its child scope ("" for none).

    Text that is no address does not become one: `org:acme/` has the child "/", which no scope
    can be called.
    """
    base, slash, child = address.partition("/")
    return tuple(base.split(":")), child or slash


def parent_address(address: str) -> str | None:
    """The scope a child scope belongs to; None for an address without "/"."""
    parent, slash, _ = address.rpartition("/")
    return parent if slash else None


def child_address(parent: str, name: str) -> str:
    """The address of a template child scope: parent + "/" + name."""
    return f"{parent}/{name}"


def check_segment(segment: str, field: str) -> str:
    """The segment in NFC, as it may stand in an address; raises as `parse_address` does."""
    segment = unicodedata.normalize("NFC", segment)
    _check_segment(segment, field)
    return segment


class Pattern(Struct, frozen=True, cache_hash=True):
    """What a set of addresses has in common: fixed segments and `$name` parameters.

    Without parameters it is a concrete address. `child` is the path right of the first "/".
    """

    segments: tuple[str, ...]
    child: str = ""

    @classmethod
    def parse(cls, text: str, field: str = "pattern") -> "Pattern":
        """Reads a pattern or an address.

        Raises ValidationError as `parse_address` does, and with reason `duplicate` where one
        parameter stands twice. The type and child scopes cannot be parameters.
        """
        segments, child = split_address(_parse(text, field, parameters=True))
        parameters = [s for s in segments if s.startswith("$")]
        if len(set(parameters)) < len(parameters):
            raise ValidationError(
                f'"{text}" has the same parameter twice.', field=field, reason="duplicate"
            )
        return cls(segments, child)

    @property
    def text(self) -> str:
        """The pattern as it is written; the address of a concrete one."""
        base = ":".join(self.segments)
        return f"{base}/{self.child}" if self.child else base

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters, without "$"."""
        return frozenset(s[1:] for s in self.segments if s.startswith("$"))

    @property
    def fixed_positions(self) -> tuple[int, ...]:
        """Which segments are no parameters; the type, 0, always is one of them."""
        return tuple(i for i, s in enumerate(self.segments) if not s.startswith("$"))

    @property
    def is_concrete(self) -> bool:
        return not any(s.startswith("$") for s in self.segments)

    def match(self, address: str) -> dict[str, str] | None:
        """The value of each parameter in an address of this pattern, None for any other."""
        segments, child = split_address(address)
        if len(segments) != len(self.segments) or child != self.child:
            return None
        bindings: dict[str, str] = {}
        for mine, given in zip(self.segments, segments, strict=True):
            if mine.startswith("$"):
                bindings[mine[1:]] = given
            elif mine != given:
                return None
        return bindings

    def substitute(self, bindings: Mapping[str, str]) -> "Pattern":
        """The pattern with these parameters fixed; those without a value stay parameters."""
        fixed = tuple(bindings.get(s[1:], s) if s.startswith("$") else s for s in self.segments)
        return Pattern(fixed, self.child)

    def covers(self, other: "Pattern") -> bool:
        """Whether every address of `other` is one of this pattern."""
        return self._comparable(other) and all(
            mine.startswith("$") or mine == theirs
            for mine, theirs in zip(self.segments, other.segments, strict=True)
        )

    def overlaps(self, other: "Pattern") -> bool:
        """Whether some address is one of both patterns."""
        return self._comparable(other) and all(
            mine.startswith("$") or theirs.startswith("$") or mine == theirs
            for mine, theirs in zip(self.segments, other.segments, strict=True)
        )

    def _comparable(self, other: "Pattern") -> bool:
        return len(self.segments) == len(other.segments) and self.child == other.child


def parameters_in(text: str) -> frozenset[str]:
    """Names of the parameters a label speaks of; a "$" before anything else is just a "$"."""
    return frozenset(_PARAMETER_IN_TEXT.findall(text))


def fill_parameters(text: str, bindings: Mapping[str, str]) -> str:
    """A label with each `$name` replaced by its value, in one pass; unbound ones stay."""
    return _PARAMETER_IN_TEXT.sub(lambda m: bindings.get(m[1], m[0]), text)


def _parse(text: str, field: str, *, parameters: bool) -> str:
    normal = unicodedata.normalize("NFC", text)
    if len(normal) > SCOPE_ADDRESS_CODE_POINTS_MAX:
        raise ValidationError(
            f"A scope address has at most {SCOPE_ADDRESS_CODE_POINTS_MAX} characters.",
            field=field,
            reason="tooLong",
            limit=SCOPE_ADDRESS_CODE_POINTS_MAX,
        )
    base, *children = normal.split("/")
    segments = base.split(":")
    if len(segments) < 2:
        raise ValidationError(
            f'"{_shown(normal)}" is not a scope address; one reads type:name, such as org:acme.',
            field=field,
            reason="malformed",
        )
    for position, segment in enumerate([*segments, *children]):
        may_be_parameter = parameters and 0 < position < len(segments)
        if not (may_be_parameter and _PARAMETER.fullmatch(segment)):
            _check_segment(segment, field)
    return normal


def _check_segment(segment: str, field: str) -> None:
    if segment in ("", ".", ".."):
        raise ValidationError(
            'A segment of a scope address must not be empty, "." or "..".',
            field=field,
            reason="malformed",
        )
    for character in segment:
        if character in _RESERVED or unicodedata.category(character) in _INVISIBLE:
            raise ValidationError(
                "A segment of a scope address takes no white space, no invisible characters "
                f'and none of ":", "/", "#", "$", ","; this one has U+{ord(character):04X}.',
                field=field,
                reason="character",
            )


def _shown(text: str) -> str:
    """Escaped where an answer could not carry it (lone surrogates)."""
    return text.encode("utf-8", "backslashreplace").decode()
