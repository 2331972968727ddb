"""The docs and the code say the same: errors, limits, digests, and links."""

import ast
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from kbstore import errors, limits
from kbstore.errors import KBStoreError, StoreError
from kbstore.store.commits import Commit, commit_digest, event_hash

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MARKDOWN = MarkdownIt("commonmark").enable("table")

TREE_LINE = re.compile(r"(?:[├└]── )(\w+Error)\s+(\d{3})?\s*([A-Z][A-Z_]+)?(?:\s|$)")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- errors ---------------------------------------------------------------------------------


def error_classes() -> list[type[KBStoreError]]:
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, KBStoreError) and value is not KBStoreError
    ]


def status_of(error: type[KBStoreError]) -> int | None:
    """None where the error never answers a request."""
    return None if issubclass(error, StoreError) else error.http_status


def raised_errors() -> dict[str, tuple[int | None, str]]:
    """Code to status and class of each error with a code of its own."""
    return {
        error.code: (status_of(error), error.__name__)
        for error in error_classes()
        if "code" in vars(error)
    }


def table_rows(page: Path) -> Iterator[list[str]]:
    """The body cells of every table on a page, as written, code marks taken off."""
    row: list[str] = []
    in_body = False
    for token in MARKDOWN.parse(page.read_text("utf-8")):
        if token.type in ("tbody_open", "tbody_close"):
            in_body = token.type == "tbody_open"
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(token.content.strip().strip("`"))
        elif token.type == "tr_close" and in_body:
            yield row


def test_every_error_is_documented_and_every_documented_error_exists() -> None:
    documented = {
        code: (int(status) if status.isdigit() else None, name)
        for code, status, name, *_ in table_rows(DOCS / "reference/errors.md")
    }
    assert documented == raised_errors()


def test_codes_are_unique() -> None:
    codes = Counter(error.code for error in error_classes() if "code" in vars(error))
    assert [code for code, count in codes.items() if count > 1] == []


def test_the_tree_in_the_errors_module_is_the_real_one() -> None:
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        if found := TREE_LINE.search(line):
            name, status, code = found.groups()
            drawn[name] = (int(status) if status else None, code)
    real = {
        error.__name__: (status_of(error), error.code if "code" in vars(error) else None)
        for error in error_classes()
    }
    assert drawn == real


# --- limits ---------------------------------------------------------------------------------


def test_every_limit_is_documented_with_its_value() -> None:
    documented = {
        name: ast.literal_eval(value.replace(",", ""))
        for name, value, *_ in table_rows(DOCS / "reference/limits.md")
    }
    real = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert documented == real


# --- digests --------------------------------------------------------------------------------


def test_the_worked_digest_is_the_real_one() -> None:
    text = (DOCS / "internals/events.md").read_text("utf-8")
    worked = next(
        json.loads(token.content) for token in MARKDOWN.parse(text) if token.info == "json"
    )
    event = worked["event"]
    hashed = event_hash(
        event["position"],
        UUID(event["originatorId"]),
        event["originatorVersion"],
        event["topic"],
        bytes.fromhex(event["payload"]),
    )
    commit = Commit(
        kb_id=UUID(worked["kb"]),
        revision=worked["revision"],
        first_position=worked["firstPosition"],
        event_count=worked["eventCount"],
        committed_at=worked["committedAt"],
        occurred_at=worked["occurredAt"],
        actor=worked["actor"],
        run=worked["run"],
        tool_call=worked["toolCall"],
        message=worked["message"],
        digest=b"",
    )
    assert hashed.hex() == worked["eventHash"]
    digest = commit_digest(bytes.fromhex(worked["previous"]), commit, hashed)
    assert digest.hex() == worked["digest"]


# --- links ----------------------------------------------------------------------------------


def inline_tokens(page: Path) -> Iterator[Token]:
    for token in MARKDOWN.parse(page.read_text("utf-8")):
        yield from token.children or []


def anchors(page: Path) -> set[str]:
    """The anchors that a code host gives to headings: lower case, hyphens, no punctuation."""
    seen: Counter[str] = Counter()
    found = set()
    tokens = MARKDOWN.parse(page.read_text("utf-8"))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or []).lower()
            kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN")
            slug = "".join(kept).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def broken_links(page: Path) -> list[str]:
    broken = []
    for token in inline_tokens(page):
        target = str(token.attrGet("href") or token.attrGet("src") or "")
        parts = urlsplit(target)
        if not target or parts.scheme or parts.netloc:
            continue
        file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        known = file.exists() and file.is_relative_to(ROOT)
        if not known or (parts.fragment and parts.fragment not in anchors(file)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# One two\n\n[a](page.md#one-two) [b](#three) [c](gone.md) [d](../x)\n")
    (tmp_path.parent / "x").write_text("outside")
    assert broken_links(page) == ["#three", "gone.md", "../x"]


def test_every_docs_page_can_be_found_from_the_index() -> None:
    index = DOCS / "README.md"
    linked = {
        (DOCS / unquote(urlsplit(str(token.attrGet("href"))).path)).resolve()
        for token in inline_tokens(index)
        if token.type == "link_open"
    }
    missing = [relative(page) for page in DOCS.rglob("*.md") if page not in {index, *linked}]
    assert missing == []
