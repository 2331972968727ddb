"""An operation log played on a plain folder: what every imported state is compared with.

Written from the log's format alone. It knows paths and texts, no pages.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

State = frozenset[tuple[str, str]]
"""The folder: each file's path with the SHA-256 (hexadecimal) of its text, line ends aside."""


class FolderModel:
    """A folder that one line after the other changes."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._hashes: dict[str, str] = {}

    def play(self, operations: Iterable[Mapping[str, str]]) -> State:
        """Does the operations of one line, in order, and returns the folder after it."""
        for operation in operations:
            match operation["op"]:
                case "write":
                    self._put(operation["path"], operation["text"])
                case "move":
                    self._put(operation["to"], self._take(operation["from"]))
                case "delete":
                    self._take(operation["path"])
                case other:
                    raise ValueError(f"a folder knows no {other!r}")
        return frozenset(self._hashes.items())

    def _put(self, path: str, text: str) -> None:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.texts[path] = text
        self._hashes[path] = sha256(text.encode()).hexdigest()

    def _take(self, path: str) -> str:
        del self._hashes[path]
        return self.texts.pop(path)
