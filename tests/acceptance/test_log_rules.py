"""The rules of an operation log that no line of the 18F handbook reaches."""

import sqlite3
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.logs import (
    SCOPE,
    SLUG,
    Played,
    delete,
    head_revision,
    log_lines,
    move,
    new_database,
    run_import,
    write,
    write_log,
)
from tests.acceptance.pages import open_pages
from tests.acceptance.processes import Json, invoke, invoked


def test_a_child_that_stays_keeps_the_old_page_as_its_folder(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [write("guide", "# Guide\n"), write("guide/tools", "# Tools\n")],
        [move("guide", "manual")],
    )
    with open_pages(played.database, SLUG, SCOPE) as pages:
        before, after = pages.places(played.revisions[1]), pages.places()
        assert pages.names()["guide"] == "guide"
    assert after["guide"] == (before["guide"][0], None)
    assert after["guide/tools"] == before["guide/tools"]
    assert after["manual"][1] == before["guide"][1]
    assert after["manual"][0] != before["guide"][0]


def test_children_that_all_move_along_let_the_page_keep_its_id(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [write("guide"), write("guide/tools"), write("guide/tools/saw")],
        [
            move("guide/tools/saw", "manual/tools/saw"),
            move("guide", "manual"),
            move("guide/tools", "manual/tools"),
        ],
    )
    with open_pages(played.database, SLUG, SCOPE) as pages:
        before, after = pages.ids(played.revisions[1]), pages.ids()
    assert after == {path.replace("guide", "manual"): page for path, page in before.items()}


def test_an_unchanged_line_has_the_revision_before_it(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [],
        [write("a")],
        [write("a")],
        [write("a", "# a\r\n")],
        [write("b"), delete("b")],
        [move("a", "a")],
        [write("a", "other")],
        [],
    )
    first = played.revisions[1]
    # Nothing but the declaration of the scope came before the log.
    assert first == 2
    assert list(played.revisions.values()) == [first, *[first + 1] * 5, *[first + 2] * 2]
    assert played.report["commits"] == 2
    assert played.report["unchanged"] >= 2
    again = run_import(played.database, played.log).json
    assert again["revisions"] == played.report["revisions"]
    assert again["commits"] == 0
    assert head_revision(played.database) == first + 2


def test_a_log_that_changes_nothing_has_the_revision_there_is(tmp_path: Path) -> None:
    played = Played(tmp_path, [], [])
    assert played.revisions == {1: 2, 2: 2}
    assert played.report["commits"] == 0


def test_a_path_that_returns_is_a_new_page(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [write("a/b", "# One\n")],
        [delete("a/b")],
        [write("a/b", "# Two\n")],
        [delete("a/b"), write("a/b", "# Three\n")],
    )
    with open_pages(played.database, SLUG, SCOPE) as pages:
        ids = [pages.ids(revision) for revision in played.revisions.values()]
    assert ids[1] == {}
    assert len({found["a/b"] for found in (ids[0], ids[2], ids[3])}) == 3
    # The folder went with its last page and came back as another one.
    assert ids[0]["a"] != ids[2]["a"] == ids[3]["a"]


def test_chains_and_swaps_keep_ids(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [write("a", "# A\n"), write("b", "# B\n"), write("c/deep", "# C\n")],
        [move("a", "x"), move("x", "y/z")],
        [move("y/z", "hold"), move("b", "y/z"), move("hold", "b")],
        [
            move("b", "hold"),
            move("y/z", "b"),
            move("c/deep", "y/z"),
            move("hold", "c/deep"),
        ],
    )
    with open_pages(played.database, SLUG, SCOPE) as pages:
        one, two, three, four = (pages.ids(revision) for revision in played.revisions.values())
    a, b, c = one["a"], one["b"], one["c/deep"]
    assert (two["y/z"], two["b"]) == (a, b)
    assert (three["b"], three["y/z"]) == (a, b)
    assert (four["b"], four["y/z"], four["c/deep"]) == (b, c, a)
    assert played.report["commits"] == 4


def test_a_file_beside_its_folder_is_one_page(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [write("a/b")],
        [write("a", "# Folder and file\n")],
        [delete("a")],
        [write("a")],
        [delete("a/b")],
        [delete("a")],
    )
    with open_pages(played.database, SLUG, SCOPE) as pages:
        places = [pages.places(revision) for revision in played.revisions.values()]
    folder = places[0]["a"][0]
    assert [found.get("a", (None, None))[0] for found in places] == [*[folder] * 5, None]
    assert [found["a"][1] is None for found in places[:5]] == [True, False, True, False, False]


def test_names_come_from_front_matter_heading_or_key(tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        [
            write("titled", "---\ntitle: From the front\n---\n# From the heading\n"),
            write("headed", "From the heading\n================\n"),
            write("plain", "Just text.\n"),
        ],
        [move("plain", "renamed"), move("headed", "elsewhere")],
    )
    with open_pages(played.database, SLUG, SCOPE) as pages:
        names = pages.names()
    assert names == {
        "titled": "From the front",
        "elsewhere": "From the heading",
        "renamed": "renamed",
    }


def test_a_commit_says_what_its_line_says(tmp_path: Path) -> None:
    lines = log_lines([write("a")], [write("b")], [write("c")])
    lines[1] |= {"n": 7, "at": "2001-02-03T04:05:06.5+02:00", "actor": "jonas"}
    lines[2]["n"] = 8
    database, log = new_database(tmp_path), write_log(tmp_path / "log.jsonl", lines)
    report = run_import(database, log).json
    assert report["revisions"] == {"1": 3, "7": 4, "8": 5}
    connection = sqlite3.connect(database)
    rows = connection.execute(
        "SELECT actor, message, occurred_at / 1000 FROM commits WHERE revision > 2"
    ).fetchall()
    times = connection.execute("SELECT committed_at FROM commits ORDER BY revision").fetchall()
    connection.close()
    assert rows == [
        ("user:mira", "line 1", 1_704_067_200_000),
        ("user:jonas", "line 7", 981_165_906_500),
        ("user:mira", "line 8", 1_704_240_000_000),
    ]
    assert times == sorted(times)


# --- the scope --------------------------------------------------------------------------------


def test_an_undeclared_scope_is_declared_once(tmp_path: Path) -> None:
    played = Played(tmp_path, [write("a")])
    assert messages(played.database) == [f"declare {SCOPE}", "line 1"]
    longer = write_log(tmp_path / "longer.jsonl", log_lines([write("a")], [write("b")]))
    assert run_import(played.database, longer).code == 0
    assert messages(played.database)[2:] == ["line 2"]


def test_a_scope_that_a_pattern_declares_stays_as_it_is(tmp_path: Path) -> None:
    database = new_database(tmp_path)
    configuration = tmp_path / "configuration.toml"
    configuration.write_text('[scopes."org:$org"]\naccess = []\n', "utf-8")
    invoked(database, "kb", "configure", SLUG, configuration)
    log = write_log(tmp_path / "log.jsonl", log_lines([write("a")]))
    assert run_import(database, log).json["revisions"] == {"1": 3}
    assert messages(database) == ["configure from configuration.toml", "line 1"]


def messages(database: Path) -> list[str]:
    """What the commits say, without the one that created the knowledge base."""
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT message FROM commits WHERE revision > 1 ORDER BY revision")
    found = [row[0] for row in rows]
    connection.close()
    return found


# --- logs that are refused ----------------------------------------------------------------------

GOOD = log_lines([write("a")], [write("b")], [write("c")])


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (b'{"n": 2, "at": ', "json"),
        (b"", "json"),
        (b'{"n": 2}', "shape"),
        ({"extra": 1}, "shape"),
        ({"at": "2024-01-02T00:00:00"}, "shape"),
        ({"ops": [{"op": "copy", "path": "a.md"}]}, "shape"),
        ({"ops": [{"op": "write", "path": "b.md"}]}, "shape"),
        ({"n": 1}, "order"),
        ({"actor": ""}, "actor"),
        ({"actor": "mira\n"}, "actor"),
        ({"ops": [write("../b")]}, "path"),
        ({"ops": [write("/b")]}, "path"),
        ({"ops": [{"op": "write", "path": "b.txt", "text": ""}]}, "suffix"),
        ({"ops": [write("b#c")]}, "key"),
        ({"ops": [write("/".join("abcdefghijk"))]}, "nesting"),
        ({"ops": [write("b", "\0")]}, "text"),
        ({"ops": [write("b", "x" * (4 * 1024 * 1024 + 1))]}, "text"),
    ],
)
def test_a_malformed_line_refuses_the_log_before_anything_is_written(
    tmp_path: Path, second: bytes | Json, reason: str
) -> None:
    lines = [msgspec.json.encode(line) for line in GOOD]
    lines[1] = second if isinstance(second, bytes) else msgspec.json.encode(GOOD[1] | second)
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"\n".join(lines))
    database = new_database(tmp_path)
    error = run_import(database, log).error
    assert error["code"] == "IMPORT_INVALID"
    assert error["details"] == {"line": 2, "reason": reason}
    assert error["message"].startswith("line 2: ")
    assert head_revision(database) == 1


def test_a_line_that_does_not_fit_the_pages_stops_the_import_there(tmp_path: Path) -> None:
    database = new_database(tmp_path)
    lines = log_lines([write("a")], [move("b", "c")], [write("d")])
    log = write_log(tmp_path / "log.jsonl", lines)
    for _ in range(2):
        error = run_import(database, log).error
        assert (error["code"], error["details"]) == (
            "IMPORT_INVALID",
            {"line": 2, "reason": "file"},
        )
        assert error["message"].endswith("; the lines before it are in the store")
        assert messages(database) == [f"declare {SCOPE}", "line 1"]
    with open_pages(database, SLUG, SCOPE) as pages:
        assert set(pages.ids()) == {"a"}


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    database = new_database(tmp_path)
    source = tmp_path / "log.jsonl.xz"
    source.write_bytes(b"\xfd7zXZ\x00" + b"\x00" * 40)
    error = run_import(database, source).error
    assert (error["code"], error["details"]["reason"]) == ("IMPORT_INVALID", "compression")
    other = tmp_path / "notes.txt"
    other.write_text("no log", "utf-8")
    assert run_import(database, other).error["details"]["reason"] == "source"
    assert head_revision(database) == 1


def test_a_scope_that_is_no_address_is_refused(tmp_path: Path) -> None:
    database = new_database(tmp_path)
    log = write_log(tmp_path / "log.jsonl", GOOD)
    error = invoke(database, "import", SLUG, log, "--scope", "org:$org").error
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"]["field"] == "scope"
    assert head_revision(database) == 1
