"""Refusals as tools tell them: the sentence of reference 2, and what a model can do next."""

from typing import cast

from kbstore.errors import VersionConflictError
from kbstore.limits import READ_TOKENS_DEFAULT
from kbstore.text import estimate_tokens
from projections.views import Json

_CUT = "\n[the rest of the diff is left out]\n"


def tell_conflict(conflict: VersionConflictError) -> VersionConflictError:
    """The conflict with a way forward in its message, its details no longer than one read."""
    details = dict(conflict.details)
    page_id = details.get("pageId")
    sentences = [f"Knowledge record version conflict: {page_id}"]
    ref, current = details.get("ref"), details.get("currentVersion")
    if ref is None or current is None:
        return VersionConflictError(sentences[0], **details)
    sentences.append(
        f". Nothing was written: you expected version {details.get('expectedVersion')}, and "
        f'"{ref}" is at version {current} since {details.get("updatedBy")} changed it at '
        f"{details.get('updatedAt')}."
    )
    merged = cast(dict[str, Json] | None, details.pop("merged", None))
    if merged is not None and estimate_tokens(str(merged["body"])) <= READ_TOKENS_DEFAULT:
        details["merged"] = merged
        sentences.append(
            " Your edit and the others do not overlap: to keep them all, write the body in "
            f"details.merged with expectedVersion {current}."
        )
    else:
        sentences.append(
            " The diff in the details shows what changed. Read the part you edit again with "
            f"knowledge_read, and send your change with expectedVersion {current}; take a range "
            "from that read."
        )
    if isinstance(details.get("diff"), str):
        details["diff"] = _shortened(cast(str, details["diff"]))
    return VersionConflictError("".join(sentences), **details)


def _shortened(diff: str) -> str:
    """The first lines of a diff, as many as one read shows."""
    if estimate_tokens(diff) <= READ_TOKENS_DEFAULT:
        return diff
    kept, tokens = [], 0
    for line in diff.splitlines(keepends=True):
        tokens += estimate_tokens(line)
        if tokens > READ_TOKENS_DEFAULT:
            break
        kept.append(line)
    return "".join(kept) + _CUT
