"""The main job: a real handbook's edit history goes in, and every state of it comes out."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from tests.acceptance.handbook import (
    LOG,
    SCOPE,
    SLUG,
    Imported,
    get,
    read_over_http,
)
from tests.acceptance.pages import Pages, files_of
from tests.acceptance.processes import Ended, Json, command_of, done, finish, server, start
from tests.oplog_model import FolderModel

pytestmark = pytest.mark.skipif(not LOG.is_file(), reason="needs ../shared/data beside the project")

FILES_AT_THE_END = 251
LINES = 3_167
SEED = "handbook"


@pytest.fixture(scope="module")
def client(whole: Imported, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    database = copy_of(whole, tmp_path_factory.mktemp("served"))
    with server(database) as served, served.client(SLUG, whole.key) as opened:
        yield opened


def copy_of(imported: Imported, folder: Path) -> Path:
    """A database of its own, what lies in the write-ahead log included."""
    copied = folder / "kb.db"
    with closing(sqlite3.connect(imported.path)) as source, closing(sqlite3.connect(copied)) as to:
        source.backup(to)
    return copied


def test_the_report_counts_and_names_every_line(whole: Imported, lines: list[Json]) -> None:
    assert whole.ended.code == 0, whole.ended
    report = whole.report
    assert list(report) == [
        *("commits", "created", "edited", "moved", "deleted", "unchanged", "revisions")
    ]
    assert report["commits"] == LINES
    assert set(whole.revisions) == {line["n"] for line in lines}
    ordered = [whole.revisions[line["n"]] for line in lines]
    # Revision 1 creates the knowledge base, 2 declares the scope.
    assert ordered == list(range(3, LINES + 3))
    assert report["unchanged"] == 0


def test_progress_goes_to_standard_error(whole: Imported) -> None:
    assert f" of {LINES}" in whole.ended.err
    assert whole.ended.err.startswith(f"{LOG.name}: ")


def test_the_final_files_are_the_pages_with_a_body(
    whole: Imported, pages: Pages, lines: list[Json]
) -> None:
    model = FolderModel()
    for line in lines:
        model.play(line["ops"])
    assert len(model.texts) == FILES_AT_THE_END
    revision = whole.revisions[lines[-1]["n"]]
    assert revision == pages.head.revision
    assert pages.files(revision) == model.texts


def test_every_state_is_the_folder_s(whole: Imported, pages: Pages, lines: list[Json]) -> None:
    model = FolderModel()
    revisions = whole.revisions
    for line in lines:
        assert pages.state(revisions[line["n"]]) == model.play(line["ops"]), line["n"]


def check_over_http(
    count: int, client: httpx.Client, whole: Imported, pages: Pages, lines: list[Json]
) -> None:
    chosen = set(random.Random(SEED).sample(range(len(lines)), count))
    model = FolderModel()
    for index, line in enumerate(lines):
        state = model.play(line["ops"])
        if index in chosen:
            revision = whole.revisions[line["n"]]
            read = read_over_http(client, revision)
            assert files_of(read) == state, line["n"]
            assert read == pages.places(revision), line["n"]


def test_eight_states_read_back_over_http(
    client: httpx.Client, whole: Imported, pages: Pages, lines: list[Json]
) -> None:
    check_over_http(8, client, whole, pages, lines)


@pytest.mark.soak
def test_sixty_states_read_back_over_http(
    client: httpx.Client, whole: Imported, pages: Pages, lines: list[Json]
) -> None:
    check_over_http(60, client, whole, pages, lines)


def test_fifty_moves_kept_id_and_history(
    client: httpx.Client, whole: Imported, lines: list[Json]
) -> None:
    moves = [
        (whole.revisions[line["n"]], operation)
        for line in lines
        for operation in line["ops"]
        if operation["op"] == "move"
    ]
    assert len(moves) == 818
    for revision, move in random.Random(SEED).sample(moves, 50):
        before = page_at(client, move["from"], revision - 1)
        after = page_at(client, move["to"], revision)
        assert after["id"] == before["id"]
        old = history(client, before["id"], revision - 1)
        new = history(client, before["id"], revision)
        assert old[0]["changed"] == ["created"]
        assert [entry["version"] for entry in new] == list(range(1, after["version"] + 1))
        assert new[: len(old)] == old
        # Whoever follows a page above has no event of his own.
        assert {entry["revision"] for entry in new[len(old) :]} <= {revision}
        where = f"{SCOPE}#{stem(move['from'])}"
        left = client.get("/pages", params={"ref": where, "revision": revision})
        assert left.status_code == 404 or left.json()["page"]["id"] != before["id"]


def page_at(client: httpx.Client, path: str, revision: int) -> Json:
    page = get(client, "/pages", {"ref": f"{SCOPE}#{stem(path)}", "revision": revision})["page"]
    assert isinstance(page, dict)
    return page


def stem(path: str) -> str:
    return path.removesuffix(".md")


def history(client: httpx.Client, page: str, revision: int) -> list[Json]:
    entries: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        listed = get(
            client, f"/pages/{page}/history", {"limit": 200, "revision": revision, **cursor}
        )
        entries += listed["items"]
        if listed["nextCursor"] is None:
            return entries
        cursor = {"cursor": listed["nextCursor"]}


def test_a_killed_import_ends_as_an_uninterrupted_one(whole: Imported, killed: Imported) -> None:
    assert killed.ended.code == 0, killed.ended
    assert killed.revisions == whole.revisions
    assert 0 < killed.report["commits"] < LINES
    processes = [start(command_of(imported.path, "verify", SLUG)) for imported in (whole, killed)]
    one, other = (proved(finish(process)) for process in processes)
    assert one["contentChecksum"] == other["contentChecksum"] is not None
    assert one["checksum"] != other["checksum"]
    assert one["revision"] == LINES + 2


def proved(ended: Ended) -> Json:
    assert ended.code == 0, ended
    report = ended.json
    assert report["ok"] is True
    assert report["failures"] == []
    return report


def test_a_second_run_adds_no_revision(killed: Imported, whole: Imported, tmp_path: Path) -> None:
    database = copy_of(killed, tmp_path)
    again = done(database, "import", SLUG, LOG, "--scope", SCOPE)
    assert again["commits"] == 0
    assert again["revisions"] == whole.report["revisions"]
    listed = done(database, "kb", "list")["items"]
    assert [item["revision"] for item in listed] == [LINES + 2]


def test_an_export_is_the_final_folder(whole: Imported, lines: list[Json], tmp_path: Path) -> None:
    model = FolderModel()
    for line in lines:
        model.play(line["ops"])
    report = done(whole.path, "export", SLUG, tmp_path / "out", "--scope", SCOPE)
    assert report["files"] == FILES_AT_THE_END
    files = {
        # A key such as "index" has its first character percent-written in a file's name.
        unquote(path.relative_to(tmp_path / "out").as_posix()): path.read_bytes().decode()
        for path in (tmp_path / "out").rglob("*.md")
    }
    assert files == model.texts
