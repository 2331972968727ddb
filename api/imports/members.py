"""What the members of a folder or an archive may be called, and what they may hold."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from api.filenames import SUFFIX, is_keyless, key_in, names_in
from api.imports.paths import Keys, PathError, checked_keys
from kbstore.errors import ImportInvalidError, ValidationError
from kbstore.limits import (
    BODY_BYTES_MAX,
    IMPORT_INFLATED_BYTES_MAX,
    IMPORT_OPERATIONS_PER_LINE_MAX,
)
from kbstore.text import clean_body, fold_key

MARKDOWN_SUFFIXES = (".md", ".markdown")

_DRIVE = re.compile(r"[A-Za-z]:")


def refused(name: str, reason: str, message: str) -> ImportInvalidError:
    """The refusal of one member; a name that is not Unicode is shown escaped."""
    shown = name.encode("utf-8", "backslashreplace").decode()
    return ImportInvalidError(f"{shown!r}: {message}", member=shown, reason=reason)


def is_markdown(name: str) -> bool:
    return name.lower().endswith(MARKDOWN_SUFFIXES)


def check_name(name: str) -> None:
    """Refuses (`path`) a name that could lead out of the folder, on any system, also where
    somebody decodes `%2e%2e`."""
    if "\0" in name or "\\" in name:
        raise refused(name, "path", "a name holds neither NUL nor backslashes")
    if name.startswith("/") or _DRIVE.match(name):
        raise refused(name, "path", "a name is relative")
    inner = name.removesuffix("/")
    for spelling in (inner, *_decoded(inner)):
        if any(part in ("", ".", "..") for part in re.split(r"[/\\]", spelling)):
            raise refused(name, "path", "a name has no empty part, no '.' and no '..'")


def _decoded(path: str) -> Iterator[str]:
    """The names in a path as somebody may decode them; those an export writes stay."""
    for name in names_in(path):
        yield unquote(name) if key_in(name.removesuffix(SUFFIX)) is None else name


class Catalog:
    """The Markdown members by the page each of them stands for; `keyless` counts those that no
    keys lead to, as exports write the scope page and pages without a key."""

    def __init__(self) -> None:
        self.members: dict[Keys, str] = {}
        self.keyless = 0
        self._spelled: dict[Keys, tuple[Keys, str]] = {}

    def add(self, name: str) -> None:
        """Takes a Markdown member in. Refuses `path`, `key`, `nesting`, `duplicate` (also of
        folders, compared NFC and case-folded) and `too_many`."""
        check_name(name)
        names = names_in(name[: name.rindex(".")])
        if is_keyless(names):
            self.keyless += 1
            return
        try:
            keys = checked_keys(name, tuple(key_in(part) or part for part in names))
        except PathError as error:
            raise refused(name, error.reason, str(error)) from None
        for length in range(1, len(keys) + 1):
            folded = tuple(fold_key(key) for key in keys[:length])
            spelled, other = self._spelled.setdefault(folded, (keys[:length], name))
            if spelled != keys[:length]:
                raise refused(name, "duplicate", f"differs from {other!r} in letter case alone")
        if keys in self.members:
            raise refused(name, "duplicate", f"is the same page as {self.members[keys]!r}")
        if len(self.members) >= IMPORT_OPERATIONS_PER_LINE_MAX:
            raise refused(
                name, "too_many", f"a folder has at most {IMPORT_OPERATIONS_PER_LINE_MAX} files"
            )
        self.members[keys] = name


class Inflow:
    """Turns members' bytes into bodies and keeps count of what came in altogether."""

    def __init__(self) -> None:
        self._bytes = 0

    def body(self, name: str, data: bytes) -> str:
        """The text of a member. Refuses `size` and `text` (not UTF-8, or with a NUL)."""
        if len(data) > BODY_BYTES_MAX:
            raise refused(name, "size", f"a body has at most {BODY_BYTES_MAX} bytes")
        self._bytes += len(data)
        if self._bytes > IMPORT_INFLATED_BYTES_MAX:
            raise refused(name, "size", f"all files have at most {IMPORT_INFLATED_BYTES_MAX} bytes")
        try:
            return clean_body(data.decode())
        except UnicodeDecodeError as error:
            raise refused(name, "text", f"is not UTF-8 at byte {error.start}") from None
        except ValidationError as error:
            raise refused(name, "text", error.message) from None
