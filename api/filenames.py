"""How pages are named as files: the keys a, b are `a/b.md`, and what is below lies in `a/b/`.

No two pages of a scope share a path, no file has the path of a folder, and each path leads back
to the keys. What a file's name cannot hold is percent-written, as `%` is in no key:

- the first character of `index`, `log` and of a key that ends in `.md`, and where that gives the
  file of another page, the last dot of such a key as well;
- `\\`, and the colon of what reads like a drive.

A page without a key is `%<id>`, the scope page `%scope`. A name of more bytes than a file system
takes goes on in the folder: `<first part>%/%<rest>`.
"""

import re
from collections.abc import Iterable, Iterator
from unicodedata import normalize
from urllib.parse import unquote
from uuid import UUID

from kbstore.ids import parse_uuid
from kbstore.text import fold_key

SUFFIX = ".md"
SCOPE_PAGE = "%scope"
NAME_BYTES_MAX = 255
"""What file systems take for one part of a path, in bytes of UTF-8."""

_ESCAPE = "%"
_CUT = f"{_ESCAPE}/{_ESCAPE}"
# A part has `%` before it, and behind it `%` or the suffix.
_PART_BYTES_MAX = NAME_BYTES_MAX - len(_ESCAPE) - len(SUFFIX)
_DRIVE = re.compile(r"[A-Za-z]:")
_SHOWN_BY_NAME = ("index", "log")


def page_name(key: str | None, page_id: UUID) -> str:
    """The name of a page: its key percent-written, or its id."""
    return f"{_ESCAPE}{page_id}" if key is None else written(key)


def written(key: str) -> str:
    """The name a key stands under; `key_in` leads back."""
    escaped = {index for index, character in enumerate(key) if character == "\\"}
    if _DRIVE.match(key):
        escaped.add(1)
    if _is_reserved(key):
        escaped.add(0)
        if _stem_is_taken(key):
            escaped.add(len(key) - len(SUFFIX))
    return "".join(
        _percent(character) if index in escaped else character
        for index, character in enumerate(key)
    )


def key_in(name: str) -> str | None:
    """The key a name was written for, None for a name that no key is written as; NFC."""
    if _ESCAPE not in name:
        return normalize("NFC", name)
    try:
        key = normalize("NFC", unquote(name, errors="strict"))
    except UnicodeDecodeError:
        return None
    # Some file systems hand names back decomposed.
    is_ours = _ESCAPE not in key and normalize("NFC", written(key)) == normalize("NFC", name)
    return key if is_ours else None


def is_keyless(names: tuple[str, ...]) -> bool:
    """Whether these lead to the scope page, to a page without a key, or below one."""
    return names == (SCOPE_PAGE,) or any(
        name.startswith(_ESCAPE) and parse_uuid(name[1:]) is not None for name in names
    )


def path_of(names: Iterable[str]) -> str:
    """The path of a page, without a suffix: its names, each cut where it is too long."""
    return "/".join(_CUT.join(_parts(name)) for name in names)


def names_in(path: str) -> tuple[str, ...]:
    """The names of a path without its suffix."""
    return tuple(path.replace(_CUT, "").split("/"))


def _is_reserved(key: str) -> bool:
    folded = fold_key(key)
    return folded in _SHOWN_BY_NAME or folded.endswith(SUFFIX)


def _stem_is_taken(key: str) -> bool:
    """Whether the key's folder would have the path of another page's file."""
    stem = key[: -len(SUFFIX)]
    if not stem or not fold_key(key).endswith(SUFFIX):
        return False
    return _is_reserved(stem) or is_keyless((_percent(stem[0]) + stem[1:],))


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _parts(name: str) -> Iterator[str]:
    if len(name.encode()) <= NAME_BYTES_MAX - len(SUFFIX):
        yield name
        return
    start = size = 0
    for index, character in enumerate(name):
        size += len(character.encode())
        if size > _PART_BYTES_MAX:
            yield name[start:index]
            start, size = index, len(character.encode())
    yield name[start:]
