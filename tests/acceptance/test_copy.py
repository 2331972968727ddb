"""`kbstore copy` between SQLite and PostgreSQL, as the command line runs it."""

import random
import re
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from api.cli import main
from api.wiring import locate_database
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.copies import find_copy
from kbstore.store.heads import read_head
from projections.generation_progress import find_filled
from tests.acceptance.handbook import LOG, SCOPE, SLUG, Imported
from tests.acceptance.logs import SCOPE as SMALL_SCOPE
from tests.acceptance.logs import log_lines, new_database, run_import, write, write_log
from tests.acceptance.processes import (
    ROOT,
    Json,
    Where,
    command_of,
    done,
    finish,
    invoke,
    invoked,
    server,
    start,
    url_of,
)
from tests.backends import PostgresServer, query

needs_handbook = pytest.mark.skipif(
    not LOG.is_file(), reason="needs ../shared/data beside the project"
)
DOCS = ROOT / "docs" / "reference" / "cli.md"
LINES = 3_167
KILLS = 2
SEED = "copies"


def copied(source: Where, target: Where, *more: object) -> list[Json]:
    """What a copy in a process of its own printed."""
    given = ("--from", url_of(source), "--to", url_of(target), *more)
    items = done(source, "copy", *given)["items"]
    assert isinstance(items, list)
    return items


def digests(database: Where) -> list[object]:
    """Every commit's digest, in order, and the head's."""
    with closing(locate_database(url_of(database))) as opened:
        sql = "SELECT digest FROM commits ORDER BY kb_id, revision"
        found = [digest for (digest,) in query(opened.reader(), sql)]
        return found + [d for (d,) in query(opened.reader(), "SELECT digest FROM heads")]


# --- the handbook -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_postgresql(whole: Imported, postgres: PostgresServer) -> tuple[Json, str]:
    """The handbook, imported on SQLite and copied to PostgreSQL."""
    url = postgres.new_database()
    (report,) = copied(whole.path, url)
    return report, url


@needs_handbook
def test_the_handbook_goes_to_postgresql_and_back(
    whole: Imported, on_postgresql: tuple[Json, str], tmp_path: Path
) -> None:
    there, url = on_postgresql
    (back,) = copied(url, tmp_path / "back.db")
    assert back == there
    assert there["revision"] == LINES + 2
    proofs = [done(where, "verify", SLUG) for where in (whole.path, url, tmp_path / "back.db")]
    assert proofs[0] == proofs[1] == proofs[2]
    assert proofs[0]["ok"] is True
    for name in ("checksum", "contentChecksum"):
        assert there[name] == proofs[0][name]
    assert digests(whole.path) == digests(url) == digests(tmp_path / "back.db")
    assert len(digests(url)) == LINES + 3


@needs_handbook
def test_a_copy_says_what_an_import_says(
    on_postgresql: tuple[Json, str], postgres: PostgresServer
) -> None:
    report, _ = on_postgresql
    url = postgres.new_database()
    done(url, "kb", "create", SLUG)
    done(url, "import", SLUG, LOG, "--scope", SCOPE)
    proof = done(url, "verify", SLUG)
    assert proof["contentChecksum"] == report["contentChecksum"]
    assert proof["checksum"] != report["checksum"]


@needs_handbook
def test_a_copied_handbook_is_served_and_imported_into(
    whole: Imported, on_postgresql: tuple[Json, str]
) -> None:
    _, url = on_postgresql
    # The claims came along: no line of the log is imported again.
    again = done(url, "import", SLUG, LOG, "--scope", SCOPE)
    assert again["commits"] == 0
    assert again["revisions"] == whole.report["revisions"]
    with server(url) as served, served.client(SLUG, whole.key) as client:
        answer = client.get("/revisions/active")
    assert answer.json()["revision"] == LINES + 2


@needs_handbook
@pytest.mark.parametrize("backend", ["postgresql", pytest.param("sqlite", marks=pytest.mark.soak)])
def test_a_killed_copy_goes_on(
    whole: Imported,
    on_postgresql: tuple[Json, str],
    postgres: PostgresServer,
    tmp_path: Path,
    backend: str,
) -> None:
    """To PostgreSQL from SQLite, and to SQLite from PostgreSQL."""
    report, on_server = on_postgresql
    source: Where = whole.path if backend == "postgresql" else on_server
    target: Where = postgres.new_database() if backend == "postgresql" else tmp_path / "kb.db"
    invoked(target, "kb", "list")
    chosen = random.Random(f"{SEED} {backend}")
    command = command_of(source, "copy", "--from", url_of(source), "--to", url_of(target))
    with closing(locate_database(url_of(source))) as here:
        found = find_knowledge_base(here.reader(), SLUG)
    assert found is not None
    killed = 0
    with closing(locate_database(url_of(target))) as there:

        def reached() -> int:
            """Positions copied and positions filled."""
            with there.reader().reading():
                mark = find_copy(there.reader(), found.kb_id)
                filled = find_filled(there.reader(), found.kb_id)
            return (mark.position if mark else 0) + (filled.position if filled else 0)

        for _ in range(KILLS):
            point = reached() + chosen.randrange(1, 2 * LINES // KILLS)
            process = start(command)
            while process.poll() is None and reached() < point:
                time.sleep(0.001)
            process.kill()
            process.communicate()
            assert process.returncode != 0
            killed += 1
            assert find_knowledge_base(there.reader(), SLUG) is None
            assert read_head(there.reader(), found.kb_id) is None
    ended = finish(start(command))
    assert ended.code == 0, ended
    (item,) = ended.json["items"]
    assert item["resumedFrom"] > 0
    assert {**item, "resumedFrom": None} == report
    assert done(target, "verify", SLUG)["checksum"] == report["checksum"]
    assert digests(target) == digests(source)


# --- the command line ---------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    made = new_database(tmp_path / "here")
    log = write_log(tmp_path / "log.jsonl", log_lines([write("a")], [write("a", "# B\n")]))
    assert run_import(made, log).code == 0
    return made


def test_the_answer_has_the_keys_in_the_docs(database: Path, tmp_path: Path) -> None:
    (item,) = copied(database, tmp_path / "there.db")
    section = DOCS.read_text("utf-8").split("## `kbstore copy", 1)[1]
    example = re.search(r"```json\n(.*?)\n```", section, re.DOTALL)
    assert example is not None
    (shown,) = msgspec.json.decode(example[1], type=dict[str, list[Json]])["items"]
    assert list(shown) == list(item)
    assert (item["slug"], item["revision"], item["resumedFrom"]) == ("handbook", 4, None)


def test_all_or_some_knowledge_bases_are_copied(database: Path, tmp_path: Path) -> None:
    for name in ("second", "third"):
        invoked(database, "kb", "create", name)
    some = ("--kb", "third", "--kb", "handbook", "--kb", "third")
    assert [item["slug"] for item in copied(database, tmp_path / "some.db", *some)] == [
        *("third", "handbook")
    ]
    assert slugs(tmp_path / "some.db") == ["handbook", "third"]
    copied(database, tmp_path / "all.db")
    assert slugs(tmp_path / "all.db") == ["handbook", "second", "third"]


def slugs(database: Path) -> list[str]:
    return [item["slug"] for item in invoked(database, "kb", "list")["items"]]


def test_without_from_the_database_of_the_command_is_copied(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "there.db"
    assert invoked(database, "copy", "--to", url_of(target))["items"][0]["slug"] == "handbook"
    assert slugs(target) == ["handbook"]


def test_a_key_opens_the_copy(database: Path, tmp_path: Path) -> None:
    made = invoked(
        database,
        *("key", "create", "--kb", "handbook", "--principal", "user:a", "--hold", SMALL_SCOPE),
    )
    copied(database, tmp_path / "there.db")
    (kept,) = invoked(tmp_path / "there.db", "key", "list", "--kb", "handbook")["items"]
    assert kept["keyId"] == made["keyId"]
    with server(tmp_path / "there.db") as served, served.client("handbook", made["key"]) as client:
        read = client.get("/pages", params={"ref": f"{SMALL_SCOPE}#a"})
    assert read.json()["page"]["body"] == "# B\n"


def test_what_is_there_is_refused(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "there.db"
    copied(database, target)
    error = invoke(database, "copy", "--to", url_of(target)).error
    assert (error["code"], error["details"]) == ("STORE_ERROR", {"slug": "handbook"})


def test_a_mistyped_source_makes_no_database(database: Path, tmp_path: Path) -> None:
    source = tmp_path / "nowhere.db"
    error = invoke(
        database, "copy", "--from", url_of(source), "--to", url_of(tmp_path / "there.db")
    ).error
    assert "no database" in error["message"]
    assert not source.exists()
    assert not (tmp_path / "there.db").exists()


def test_an_unknown_knowledge_base_is_refused(database: Path, tmp_path: Path) -> None:
    target = url_of(tmp_path / "there.db")
    assert invoke(database, "copy", "--to", target, "--kb", "other").error["code"] == "NOT_FOUND"


def test_a_server_is_migrated_first(database: Path, postgres: PostgresServer) -> None:
    url = postgres.new_database(is_migrated=False)
    error = invoke(database, "copy", "--to", url).error
    assert error["code"] == "DATABASE_NOT_MIGRATED"


def test_people_read_sentences(database: Path, tmp_path: Path) -> None:
    given = ["--from", url_of(database), "--to", url_of(tmp_path / "there.db")]
    ended = CliRunner().invoke(main, ["copy", *given])
    assert ended.exit_code == 0, ended.output
    assert re.fullmatch(
        r"Copied handbook up to revision 4, digest [0-9a-f]{64}, checksum [0-9a-f]{64}, "
        r"contentChecksum [0-9a-f]{64}\.\n",
        ended.stdout,
    )
