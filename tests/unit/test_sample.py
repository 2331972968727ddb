"""The sample handbook and its history hold together; `make demo` relies on both."""

import tomllib
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from api.imports.folder import read_folder
from kbstore.access import Role, declaration_of, is_declared, load_configuration, role_of

SAMPLE = Path(__file__).parents[2] / "api" / "sample"
HANDBOOK = SAMPLE / "handbook"
FILES = sorted(HANDBOOK.rglob("*.md"))
SCOPE = "org:acme"

REQUIRED = {
    "create": {"name"},
    "edit": set[str](),
    "move": {"to"},
    "merge": {"into"},
    "note": {"text", "stamps"},
    "pin": {"kind", "audience"},
}
OPTIONAL = {
    "create": {"description", "body"},
    "edit": {"name", "description", "body", "find", "put", "append"},
    "move": set[str](),
    "merge": set[str](),
    "note": {"when"},
    "pin": {"depth"},
}
COMMON = {"op", "page", "actor", "at", "message"}

Step = dict[str, Any]


STEPS = cast("list[Step]", tomllib.loads((SAMPLE / "history.toml").read_text("utf-8"))["step"])


def relative(path: Path) -> str:
    return path.relative_to(HANDBOOK).as_posix()


def front_matter(text: str) -> dict[str, object]:
    if not text.startswith("---\n"):
        return {}
    return cast("dict[str, object]", yaml.safe_load(text[4:].split("\n---\n", 1)[0]))


def tokens(text: str) -> list[Token]:
    body = text.split("\n---\n", 1)[1] if text.startswith("---\n") else text
    return MarkdownIt("commonmark").enable("table").parse(body)


def name_of(path: Path) -> str:
    text = path.read_text("utf-8")
    if title := front_matter(text).get("title"):
        return str(title)
    parsed = tokens(text)
    heading = next(n for n, token in enumerate(parsed) if token.type == "heading_open")
    return parsed[heading + 1].content


def wiki_targets(text: str) -> list[str]:
    """Targets of `[[...]]` in running text; code is not looked at."""
    found = []
    for token in tokens(text):
        for child in token.children or []:
            if child.type == "text":
                found += [part.split("]]")[0] for part in child.content.split("[[")[1:]]
    return found


def pages_of_folder() -> dict[str, str | None]:
    """Ref to body of what the import makes; a folder without a file has no body."""
    pages: dict[str, str | None] = {}
    for file in read_folder(HANDBOOK).files:
        for depth in range(1, len(file.keys)):
            pages.setdefault(f"{SCOPE}#{'/'.join(file.keys[:depth])}", None)
        pages[f"{SCOPE}#{'/'.join(file.keys)}"] = file.body
    return pages


def replayed() -> dict[str, str | None]:
    """Ref to body after every step; each step is checked against the state it meets."""
    pages = pages_of_folder()
    for step in STEPS:
        page, op = step["page"], step["op"]
        if op == "create":
            assert page not in pages
            pages[page] = step.get("body")
        elif page.endswith("#working-agreement"):  # a template page comes to be when written
            pages[page] = step["body"]
        else:
            assert page in pages, page
        if op == "edit" and "find" in step:
            body = pages[page]
            assert body is not None
            assert body.count(step["find"]) == 1, step["find"]
            pages[page] = body.replace(step["find"], step["put"])
        elif op == "edit" and "append" in step:
            pages[page] = (pages[page] or "") + step["append"]
        elif op == "move":
            assert step["to"] not in pages
            moved = [ref for ref in pages if ref == page or ref.startswith(page + "/")]
            for ref in moved:
                pages[step["to"] + ref.removeprefix(page)] = pages.pop(ref)
        elif op == "merge":
            assert step["into"] in pages
            del pages[page]
    return pages


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_pages_are_of_a_readable_size(path: Path) -> None:
    assert 100 <= len(path.read_text("utf-8").split()) <= 400


def test_names_are_unique() -> None:
    names = [name_of(path) for path in FILES]
    assert len(names) == len(set(names)) >= 20


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_links_lead_to_pages_of_the_handbook(path: Path) -> None:
    text = path.read_text("utf-8")
    names = {name_of(file) for file in FILES}
    assert [target for target in wiki_targets(text) if target not in names] == []
    for token in tokens(text):
        for child in token.children or []:
            target = urlsplit(str(child.attrGet("href") or ""))
            if child.type == "link_open" and not target.scheme:
                assert (path.parent / target.path).resolve() in FILES


def test_links_written_later_lead_to_pages_too() -> None:
    names = {name_of(path) for path in FILES}
    refs = set(replayed())
    texts = [step[field] for step in STEPS for field in ("body", "put", "text") if field in step]
    targets = [target for text in texts for target in wiki_targets(text)]
    assert targets
    assert [target for target in targets if target not in names | refs] == []


def test_steps_have_the_fields_their_op_takes() -> None:
    for step in STEPS:
        needed = COMMON | REQUIRED[step["op"]]
        assert needed <= set(step) <= needed | OPTIONAL[step["op"]], step
        assert ("find" in step) == ("put" in step)
        if step["op"] == "edit":
            assert set(step) & OPTIONAL["edit"]


def test_the_history_applies() -> None:
    pages = replayed()
    assert f"{SCOPE}#runbooks/queue-backlog" in pages
    assert f"{SCOPE}#policies/refund-exceptions" not in pages
    refund = pages[f"{SCOPE}#policies/refund"]
    assert refund is not None
    assert "within 30 days of the charge" in refund
    assert "refund-exceptions.md" not in refund


def test_the_history_shows_every_kind_of_change() -> None:
    ops = [step["op"] for step in STEPS]
    assert ops.count("move") == 2
    assert ops.count("merge") == 1
    assert set(ops) == set(REQUIRED)


CONFIGURATION = load_configuration((SAMPLE / "configuration.toml").read_text("utf-8"), "toml")


def test_the_configuration_declares_every_scope_of_the_history() -> None:
    refs = {
        ref for step in STEPS for ref in (step["page"], step.get("to"), step.get("into")) if ref
    }
    used = {ref.partition("#")[0] for ref in refs}
    for step in STEPS:
        used |= {*step.get("stamps", ()), *step.get("audience", ())}
    assert len(used) == 3
    assert {scope for scope in used if not is_declared(CONFIGURATION, scope)} == set()


@pytest.mark.parametrize(
    ("held", "scope", "role"),
    [
        ("org:acme", "org:acme", Role.OWNER),
        ("org:acme", "team:acme:support", Role.VIEWER),
        ("team:acme:platform", "team:acme:support", Role.EDITOR),
        ("team:acme:support", "team:acme:platform", None),
        ("org:other", "team:acme:support", None),
        ("org:acme", "user:acme:mira", None),
    ],
)
def test_the_configuration_means_what_its_comments_say(
    held: str, scope: str, role: Role | None
) -> None:
    assert role_of(CONFIGURATION, frozenset([held]), scope) is role


def test_teams_have_the_template_page_that_the_history_writes_on() -> None:
    declared = declaration_of(CONFIGURATION, "team:acme:support")
    assert declared is not None
    assert [page.path[-1] for page in declared.templates.pages] == ["working-agreement", "rota"]
