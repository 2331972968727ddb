"""Imports into a scope whose configuration declares pages: they are written onto, and they stay."""

from pathlib import Path

import pytest

from tests.acceptance.folders import write_folder
from tests.acceptance.logs import (
    SCOPE,
    SLUG,
    Operation,
    delete,
    log_lines,
    move,
    new_database,
    run_import,
    write,
    write_log,
)
from tests.acceptance.pages import open_pages
from tests.acceptance.processes import Ended, invoked

CONFIGURATION = """
[scopes."org:acme"]
access = [{ principal = "self", role = "owner" }]

[[scopes."org:acme".pages]]
key = "log"
name = "Log"
body = "# Declared log\\n"

[[scopes."org:acme".pages]]
key = "guide"
name = "Guide"

[[scopes."org:acme".pages.pages]]
key = "intro"
name = "Intro"
body = "# Declared intro\\n"
"""
NEW = "# New\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A knowledge base whose scope declares `log`, `guide` and `guide/intro`, none written."""
    database = new_database(tmp_path)
    (tmp_path / "kb.toml").write_text(CONFIGURATION)
    invoked(database, "kb", "configure", SLUG, tmp_path / "kb.toml")
    return database


def play(database: Path, *lines: list[Operation]) -> Ended:
    log = database.with_name(f"{len(list(database.parent.iterdir()))}.jsonl")
    ended = run_import(database, write_log(log, log_lines(*lines)))
    assert invoked(database, "verify", SLUG)["ok"]
    return ended


def bodies(database: Path) -> dict[str, str | None]:
    """Each written page by its path; None where it only groups."""
    with open_pages(database, SLUG, SCOPE) as pages:
        files = pages.files()
        return {path: files.get(f"{path}.md") for path in pages.ids() if path}


def test_a_folder_is_written_onto_declared_pages(tmp_path: Path, database: Path) -> None:
    files = {"log.md": NEW, "guide/intro.md": "# Hello\n", "guide/more.md": "more\n"}
    folder = write_folder(tmp_path / "folder", files)
    report = run_import(database, folder).json
    assert (report["commits"], report["created"], report["edited"]) == (1, 1, 2)
    assert bodies(database) == {
        "log": NEW,
        "guide": None,
        "guide/intro": "# Hello\n",
        "guide/more": "more\n",
    }
    again = run_import(database, folder).json
    assert (again["commits"], again["unchanged"]) == (0, 3)
    assert invoked(database, "verify", SLUG)["ok"]


def test_a_file_that_says_what_is_declared_writes_nothing(tmp_path: Path, database: Path) -> None:
    same = CONFIGURATION.replace('name = "Log"', 'name = "Declared log"')
    (tmp_path / "kb.toml").write_text(same)
    invoked(database, "kb", "configure", SLUG, tmp_path / "kb.toml")
    folder = write_folder(tmp_path / "folder", {"log.md": "# Declared log\n"})
    report = run_import(database, folder).json
    assert (report["commits"], report["unchanged"]) == (0, 1)
    assert bodies(database) == {}


Lines = tuple[list[Operation], ...]
LINES: dict[str, tuple[Lines, dict[str, str | None]]] = {
    "written": (([write("log", NEW)], [write("log", "again\n")]), {"log": "again\n"}),
    "written beside another": (([write("a"), write("log", NEW)],), {"a": "# a\n", "log": NEW}),
    "below": (
        ([write("guide/x", NEW)], [write("guide/x", "2\n")]),
        {"guide": None, "guide/x": "2\n"},
    ),
    "below one that is below": (
        ([write("guide/intro/x", NEW)], [write("guide/intro", "i\n")]),
        {"guide": None, "guide/intro": "i\n", "guide/intro/x": NEW},
    ),
    "deleted": (([delete("log")],), {"log": None}),
    "deleted and written": (([delete("log")], [write("log", NEW)]), {"log": NEW}),
    "at once": (([delete("log"), write("log", NEW)],), {"log": NEW}),
    "moved away": (([move("log", "old")],), {"log": None, "old": "# Declared log\n"}),
    "moved away and back": (
        ([move("log", "old")], [move("old", "log")]),
        {"log": "# Declared log\n"},
    ),
    "moved onto": (([write("a", NEW)], [move("a", "log")]), {"log": NEW}),
    "moved onto below": (
        ([write("a/b", NEW), write("a")], [move("a", "guide"), move("a/b", "guide/b")]),
        {"guide": "# a\n", "guide/b": NEW},
    ),
    "swapped": (
        ([write("a", NEW)], [move("a", "b"), move("log", "a"), move("b", "log")]),
        {"a": "# Declared log\n", "log": NEW},
    ),
    "two of them swapped": (
        ([move("log", "x"), move("guide/intro", "log"), move("x", "guide/intro")],),
        {"log": "# Declared intro\n", "guide": None, "guide/intro": "# Declared log\n"},
    ),
    "emptied": (
        ([write("guide/x", NEW)], [delete("guide/x")], [write("guide/y", NEW)]),
        {"guide": None, "guide/y": NEW},
    ),
    "renamed": (
        (
            [write("guide/x", NEW), write("guide/intro", "i\n")],
            [move("guide/x", "manual/x"), move("guide/intro", "manual/intro")],
        ),
        {
            "guide": None,
            "guide/intro": None,
            "manual": None,
            "manual/x": NEW,
            "manual/intro": "i\n",
        },
    ),
    "renamed onto": (
        (
            [write("manual/x", NEW), write("manual/intro", "i\n")],
            [move("manual/x", "guide/x"), move("manual/intro", "guide/intro")],
        ),
        {"guide": None, "guide/intro": "i\n", "guide/x": NEW},
    ),
}


@pytest.mark.parametrize("at_once", [True, False], ids=["one run", "a run for each line"])
@pytest.mark.parametrize("name", LINES)
def test_a_log_is_written_onto_declared_pages(database: Path, name: str, at_once: bool) -> None:
    """What the import follows in memory is what another run finds in the store."""
    lines, expected = LINES[name]
    assert bodies(database) == {}
    for part in (lines,) if at_once else [(line,) for line in lines]:
        ended = play(database, *part)
        assert ended.code == 0, ended
    assert bodies(database) == expected


def test_a_declared_page_keeps_its_id_through_all_of_it(database: Path) -> None:
    assert play(database, [write("log", NEW)]).code == 0
    with open_pages(database, SLUG, SCOPE) as pages:
        before = pages.ids()["log"]
    lines = ([write("a"), write("log", "2\n")], [move("log", "b")], [move("a", "log")])
    assert play(database, *lines).code == 0
    with open_pages(database, SLUG, SCOPE) as pages:
        assert pages.ids()["log"] == before
        assert pages.files() == {"log.md": "# a\n", "b.md": "2\n"}


def test_a_line_that_does_not_fit_a_declared_page_is_named(database: Path) -> None:
    """Another spelling is another path, and no sibling may have it."""
    ended = play(database, [write("a")], [write("Log", NEW)])
    refusal = ended.error
    assert refusal["code"] == "IMPORT_INVALID"
    assert refusal["details"] == {"line": 2, "reason": "key_taken"}
    assert bodies(database) == {"a": "# a\n"}
