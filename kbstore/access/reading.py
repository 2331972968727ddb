"""Walks a parsed document field by field, so that every refusal names the key at fault.

msgspec's own conversion stops at `$.scopes[...]`: it does not say which key of a table was
wrong, and that is what the author of a configuration needs to know.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import NoReturn, TypeVar

import msgspec

from kbstore.errors import ConfigurationInvalidError, ValidationError

T = TypeVar("T")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Node:
    """A value of the document and the path to it, `scopes."org:$org".access[0].role`."""

    __slots__ = ("_value", "path")

    def __init__(self, value: object, path: str) -> None:
        self._value = value
        self.path = path

    def fail(self, message: str, reason: str) -> NoReturn:
        """Refuses the value; the sentence starts with its path."""
        raise invalid(self.path, message, reason)

    def inner(self, name: str, value: object) -> "Node":
        """The node of an entry of this table."""
        step = name if _BARE_KEY.fullmatch(name) else _quote(name)
        return Node(value, f"{self.path}.{step}" if self.path else step)

    def fields(self, *known: str) -> dict[str, "Node"]:
        """The fields of a table; refuses one that is not among `known`."""
        table = self._table()
        for name in table:
            if name not in known:
                hint = suggestion(name, known)
                self.inner(name, None).fail(f"is no known field{hint}.", "unknownField")
        return {name: self.inner(name, value) for name, value in table.items()}

    def entries(self) -> Iterator[tuple[str, "Node"]]:
        """The entries of a table with names of its own, in the order of the document."""
        for name, value in self._table().items():
            yield name, self.inner(name, value)

    def items(self) -> list["Node"]:
        """The items of a list."""
        if not isinstance(self._value, list):
            self.fail("must be a list.", "type")
        return [Node(item, f"{self.path}[{i}]") for i, item in enumerate(self._value)]

    def text(self) -> str:
        if not isinstance(self._value, str):
            self.fail("must be a string.", "type")
        return self._value

    def boolean(self) -> bool:
        if not isinstance(self._value, bool):
            self.fail("must be true or false.", "type")
        return self._value

    def integer(self, minimum: int, maximum: int) -> int:
        value = self._value
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail("must be a whole number.", "type")
        if not minimum <= value <= maximum:
            self.fail(f"must lie between {minimum} and {maximum}.", "outOfRange")
        return value

    def choice(self, choices: Mapping[str, T]) -> T:
        """The value a word stands for; refuses any other word."""
        word = self.text()
        if word not in choices:
            known = ", ".join(choices)
            self.fail(
                f"must be one of {known}; {_quote(word)} is none of them"
                f"{suggestion(word, tuple(choices))}.",
                "unknownValue",
            )
        return choices[word]

    def checked(self, check: Callable[[str], T]) -> T:
        """What `check` makes of the text; its ValidationError is refused at this path."""
        value = self.text()
        try:
            return check(value)
        except ValidationError as error:
            self.fail(error.message, str(error.details["reason"]))

    def is_table(self) -> bool:
        return isinstance(self._value, dict)

    def is_boolean(self) -> bool:
        return isinstance(self._value, bool)

    def _table(self) -> dict[str, object]:
        if not isinstance(self._value, dict):
            self.fail("must be a table.", "type")
        return self._value


def invalid(path: str, message: str, reason: str) -> ConfigurationInvalidError:
    """The refusal of what stands at `path`, "" for the document as a whole."""
    where = path or "The configuration"
    return ConfigurationInvalidError(f"{where}: {message}", path=path, reason=reason)


def suggestion(word: str, known: tuple[str, ...]) -> str:
    """A hint at the known word a misspelt one resembles, or nothing."""
    close = get_close_matches(word[:100], known, n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _quote(text: str) -> str:
    """In quotation marks; escaped where an answer could not carry it (lone surrogates)."""
    shown = text[:200].encode("utf-8", "backslashreplace").decode()
    return msgspec.json.encode(shown).decode()
