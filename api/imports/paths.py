"""How a file's path names a page: `a/b/c.md` is the page with the keys a, b, c."""

import re
from unicodedata import normalize

from kbstore.limits import KEY_CODE_POINTS_MAX, NESTING_LEVELS_MAX

Keys = tuple[str, ...]
"""The keys from the top of the scope down to a page; the scope page itself is `()`."""

SUFFIX = ".md"

_NOT_IN_KEYS = re.compile(r"[/#%\x00-\x1f\x7f-\x9f]")


class PathError(ValueError):
    """A path that can name no page; `reason` is stable: path, suffix, key or nesting."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def keys_of(path: str) -> Keys:
    """The keys of a log's path, in NFC. Raises PathError."""
    if not path.endswith(SUFFIX):
        raise PathError("suffix", f"{path!r} does not end in {SUFFIX}")
    return checked_keys(path, tuple(path.removesuffix(SUFFIX).split("/")))


def checked_keys(path: str, segments: Keys) -> Keys:
    """The segments of `path`, already without its suffix, as keys. Raises PathError."""
    if len(segments) > NESTING_LEVELS_MAX:
        raise PathError("nesting", f"{path!r} lies deeper than {NESTING_LEVELS_MAX} levels")
    keys = tuple(normalize("NFC", segment) for segment in segments)
    for key in keys:
        if key in ("", ".", ".."):
            raise PathError("path", f"{path!r} has a part that is empty, '.' or '..'")
        if _NOT_IN_KEYS.search(key):
            raise PathError("key", f"{path!r}: a key holds none of / # % and no control characters")
        if not _is_text(key):
            raise PathError("key", f"{path!r}: a key is valid Unicode")
        if len(key) > KEY_CODE_POINTS_MAX:
            raise PathError("key", f"{path!r}: a key has at most {KEY_CODE_POINTS_MAX} characters")
    return keys


def fold_key(key: str) -> str:
    """What makes two sibling keys the same: NFC and case-folded (DESIGN.md section 5)."""
    return normalize("NFC", normalize("NFC", key).casefold())


def normalize_line_ends(text: str) -> str:
    """The text with every line end as a single line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
