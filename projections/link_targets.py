"""What the target of a link says, and by what an unbound one is found again.

A page is known to links by its name, its ref, its id and its last key. Each way to write one of
them folds to the same text, so the links that may lead to a page are found by equality; to which
of them they do lead is for `projections.read.links` to say.
"""

from hashlib import sha256
from urllib.parse import unquote
from uuid import UUID

from msgspec import Struct

from kbstore.access import parse_address
from kbstore.domain.declared import KeyPath
from kbstore.errors import ValidationError
from kbstore.ids import parse_uuid
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.text.fold import fold
from kbstore.text.normalise import fold_key

FOLDER = "."
"""What a relative link without keys folds to, such as `..`: no key is written so."""

_KEPT_CODE_POINTS_MAX = 500
"""What an index of PostgreSQL surely takes; links that are longer are found by a hash."""


class RelativePath(Struct, frozen=True):
    """So many levels up from where the link stands, and from there down by keys."""

    up: int
    keys: KeyPath


def parse_ref(ref: str) -> tuple[str, KeyPath] | None:
    """The scope address, in NFC, and the keys of a ref that is no id; None for other text.

    Right of "#" leading, trailing and doubled slashes are dropped.
    """
    address, _, path = ref.partition("#")
    keys = tuple(key for key in path.split("/") if key)
    try:
        return parse_address(address, "ref"), keys
    except ValidationError:
        return None


def parse_relative(target: str) -> RelativePath | UUID | None:
    """What a relative link names: a path, or a page by its id; None for what can name nothing.

    `.md` may stand or not, a fragment and a query are for the reader of the page.
    """
    path = target.partition("#")[0].partition("?")[0]
    page_id = parse_uuid(path)
    if page_id is not None:
        return page_id
    if path.startswith("/"):
        return None
    segments = [unquote(segment) for segment in path.split("/") if segment not in ("", ".")]
    up = 0
    while up < len(segments) and segments[up] == "..":
        up += 1
    keys = segments[up:]
    if len(segments) > 2 * NESTING_LEVELS_MAX or ".." in keys or any("\0" in key for key in keys):
        return None
    if keys:
        keys[-1] = keys[-1].removesuffix(".md")
    return RelativePath(up, tuple(keys))


def fold_target(kind: str, target: str) -> str:
    """What is kept of an unbound link, to find it by."""
    return fold_relative(target) if kind == "relative" else fold_wiki(target)


def fold_wiki(target: str) -> str:
    """One text for all that name a page alike: by its id, by its ref, or by its name."""
    page_id = parse_uuid(target)
    if page_id is not None:
        return str(page_id)
    place = parse_ref(target)
    if place is None:
        return _folded(target)
    scope, keys = place
    path = "/".join(fold_key(key) for key in keys)
    return _folded(f"{scope}#{path}" if path else scope)


def fold_relative(target: str) -> str:
    """One text for all that end at a page alike: by its id, by its key, or without one."""
    path = parse_relative(target)
    if isinstance(path, UUID):
        return str(path)
    if path is None:
        return _folded(target)
    return fold_last_key(path.keys[-1]) if path.keys else FOLDER


def fold_last_key(key: str) -> str:
    """The text that relative links to a page with this key fold to."""
    return _folded(fold_key(key))


def _folded(text: str) -> str:
    folded = fold(text)
    if len(folded) <= _KEPT_CODE_POINTS_MAX:
        return folded
    return sha256(folded.encode()).hexdigest()
