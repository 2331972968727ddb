"""Refusals as tools tell them: the sentence of reference 2, and what a model can do next."""

from collections.abc import Iterator
from typing import cast

from kbstore.errors import VersionConflictError
from kbstore.text import estimate_tokens
from projections.views import Json

_CUT = "\n[the rest of the diff is left out]\n"


def tell_conflict(conflict: VersionConflictError, cap: int) -> VersionConflictError:
    """The conflict with a way forward in its message; its details no longer than one read, which
    shows `cap` tokens."""
    details = dict(conflict.details)
    page_id = details.get("pageId")
    if page_id is None:
        return conflict
    merged = cast(dict[str, Json] | None, details.get("merged"))
    if merged is not None and estimate_tokens(str(merged["body"])) > cap:
        # It may well be longer than what can be written whole.
        del details["merged"]
    message = " ".join(_sentences(details))
    if isinstance(details.get("diff"), str):
        details["diff"] = _shortened(cast(str, details["diff"]), cap)
    return VersionConflictError(f"Knowledge record version conflict: {page_id}{message}", **details)


def _sentences(details: dict[str, object]) -> Iterator[str]:
    """What follows the reference's own sentence, which has no full stop."""
    ref, current = details.get("ref"), details.get("currentVersion")
    expected = details.get("expectedVersion")
    if ref is None or current is None:
        return
    yield f'. Nothing was written: you expected version {expected}, and "{ref}" is at version'
    yield f"{current} since {details.get('updatedBy')} changed it at {details.get('updatedAt')}."
    if "merged" in details:
        yield "Your edit and the others do not overlap: to keep them all, write the whole body in"
        yield f"details.merged with expectedVersion {current}, without a range."
        return
    changed = [f"its {field}" for field in cast(dict[str, Json], details.get("changes", {}))]
    if details.get("diff"):
        changed.append("its body, as the diff in the details shows")
    if changed:
        yield f"What changed: {', '.join(changed)}."
    elif "diff" not in details:
        yield f"There is no version {expected} of it that you can read."
    yield "Read it again with knowledge_read. If you still want this, send it again with"
    yield f"expectedVersion {current}; take a range from that read."


def _shortened(diff: str, cap: int) -> str:
    """The first lines of a diff, as many as one read shows."""
    if estimate_tokens(diff) <= cap:
        return diff
    kept, tokens = [], 0
    for line in diff.splitlines(keepends=True):
        tokens += estimate_tokens(line)
        if tokens > cap:
            break
        kept.append(line)
    return "".join(kept) + _CUT
