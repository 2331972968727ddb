"""The pages that a model names: by id, scope address, path or exact name (reference 2)."""

from kbstore.errors import NotFoundError
from kbstore.ids import parse_uuid
from projections.link_targets import parse_ref
from projections.read.close_matches import close_matches
from projections.read.names import pages_named, resolve_name
from projections.read.refs import page_not_found, standing_at
from projections.read.standing import Standing
from projections.snapshot import Snapshot


def named_page(snapshot: Snapshot, given: str) -> Standing:
    """The live page that a reference names.

    What can be an id, an address or a path is taken for one first, then for a name. Raises
    AmbiguousReferenceError with `candidates` for a name of several readable pages, and
    NotFoundError, which says where a page went that was moved or merged.
    """
    try:
        return standing_at(snapshot, given)
    except NotFoundError as absent:
        if pages_named(snapshot, given, 1):
            return resolve_name(snapshot, given)
        raise _told(given, absent) from None


def page_to_read(snapshot: Snapshot, given: str) -> Standing:
    """The same for a read: of a page that does not exist the refusal names up to three close
    matches, `details.closeMatches`."""
    try:
        return named_page(snapshot, given)
    except NotFoundError as absent:
        if absent.details:
            raise
        close = close_matches(snapshot, given)
        if not close:
            raise
        message = f"{absent.message} Close matches: {', '.join(close)}."
        raise NotFoundError(message, closeMatches=list(close)) from None


def is_page_path(given: str) -> bool:
    """Whether text names a page, and no scope: where a scope address is asked for."""
    return parse_uuid(given) is not None or ("#" in given and parse_ref(given) is not None)


def _told(given: str, absent: NotFoundError) -> NotFoundError:
    """The refusal in the words that a model reads; its details may say where the page went."""
    moved, merged = absent.details.get("movedTo"), absent.details.get("mergedInto")
    refusal = page_not_found(given)
    if moved is not None:
        return NotFoundError(f"{refusal.message} It was moved to {moved}.", movedTo=moved)
    if merged is not None:
        return NotFoundError(f"{refusal.message} It was merged into {merged}.", mergedInto=merged)
    return refusal
