"""How a file's path names a page: `a/b/c.md` is the page with the keys a, b, c."""

from api.filenames import SUFFIX
from kbstore.errors import ValidationError
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.text import clean_key

Keys = tuple[str, ...]
"""The keys from the top of the scope down to a page; the scope page itself is `()`."""


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


def checked_keys(path: str, segments: tuple[str, ...]) -> Keys:
    """The segments of `path`, already without its suffix, as keys in NFC. Raises PathError."""
    if len(segments) > NESTING_LEVELS_MAX:
        raise PathError("nesting", f"{path!r} lies deeper than {NESTING_LEVELS_MAX} levels")
    if any(segment in ("", ".", "..") for segment in segments):
        raise PathError("path", f"{path!r} has a part that is empty, '.' or '..'")
    try:
        return tuple(clean_key(segment) for segment in segments)
    except ValidationError as error:
        raise PathError("key", f"{path!r}: {error.message}") from None
