"""Every command with `--json`: the keys of its object, and what it says when it refuses."""

import os
import pty
import re
import sqlite3
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from api.cli import main
from kbstore.store.database import SCHEMA_VERSION
from tests.acceptance.folders import write_folder
from tests.acceptance.logs import SCOPE, SLUG, log_lines, new_database, write, write_log
from tests.acceptance.processes import (
    ROOT,
    Json,
    command_of,
    environment,
    finish,
    invoke,
    invoked,
    server,
    start,
    url_of,
)

DOCS = ROOT / "docs" / "reference" / "cli.md"
CONFIGURATION = '[scopes."org:$org"]\naccess = [{ principal = "self", role = "owner" }]\n'


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return new_database(tmp_path)


def keys_in_docs(command: str) -> list[str]:
    """The keys of the example that the docs show for a command."""
    section = DOCS.read_text("utf-8").split(f"## `kbstore {command}", 1)[1]
    found = re.search(r"```json\n(.*?)\n```", section, re.DOTALL)
    assert found is not None
    return list(msgspec.json.decode(found[1], type=dict[str, object]))


def test_each_command_answers_one_object_with_the_keys_in_the_docs(tmp_path: Path) -> None:
    database = tmp_path / "kb.db"
    configuration = tmp_path / "configuration.toml"
    configuration.write_text(CONFIGURATION, "utf-8")
    log = write_log(tmp_path / "log.jsonl", log_lines([write("a")]))
    answers: dict[str, Json] = {}

    def run(command: str, *arguments: object) -> Json:
        answers[command] = invoked(database, *command.split(), *arguments)
        return answers[command]

    made = run("kb create", SLUG)
    assert re.fullmatch(r"knowledge-base-[0-9a-f-]{36}", made["id"])
    assert made["slug"] == SLUG
    assert run("migrate") == {"schemaVersion": SCHEMA_VERSION}
    assert run("kb configure", SLUG, configuration) == {"revision": 2, "changed": True}
    again = invoked(database, "kb", "configure", made["id"], configuration)
    assert again == {"revision": 2, "changed": False}
    who = ("--principal", "agent:bot")
    key = run("key create", "--kb", SLUG, *who, "--hold", SCOPE, "--hold", "org:b", "--admin")
    assert key["key"].startswith(f"kbs_{key['keyId']}_")
    assert run("import", SLUG, log, "--scope", SCOPE)["revisions"] == {"1": 3}
    assert run("export", SLUG, tmp_path / "out", "--scope", SCOPE)["files"] == 1
    assert run("verify", SLUG)["ok"] is True
    rebuilt = run("rebuild", SLUG)
    assert (rebuilt["generation"], rebuilt["revision"], rebuilt["swapEvents"]) == (2, 3, 0)
    assert rebuilt["swapMs"] > 0
    (listed,) = run("kb list")["items"]
    assert (listed["id"], listed["slug"], listed["revision"]) == (made["id"], SLUG, 3)
    assert list(listed) == ["id", "slug", "createdAt", "revision"]
    (kept,) = run("key list", "--kb", made["id"])["items"]
    assert kept["held"] == [SCOPE, "org:b"]
    assert (kept["principal"], kept["grants"], kept["revokedAt"]) == ("agent:bot", ["admin"], None)
    assert run("key revoke", key["keyId"]) == {"keyId": key["keyId"], "revoked": True}
    (kept,) = invoked(database, "key", "list", "--kb", SLUG)["items"]
    assert kept["revokedAt"] is not None
    assert {command: list(answer) for command, answer in answers.items()} == {
        command: keys_in_docs(command) for command in answers
    }


NOWHERE = ("verify", "other"), ("rebuild", "other"), ("key", "list", "--kb", "other")
REFUSALS: list[tuple[tuple[str, ...], str, Json]] = [
    *((arguments, "NOT_FOUND", {}) for arguments in NOWHERE),
    (("import", "other", "{folder}", "--scope", SCOPE), "NOT_FOUND", {}),
    (("export", "other", "{new}", "--scope", SCOPE), "NOT_FOUND", {}),
    (("kb", "configure", "other", "{configuration}"), "NOT_FOUND", {}),
    (("key", "create", "--kb", "other", "--principal", "user:a"), "NOT_FOUND", {}),
    (("key", "revoke", "ffffffffffffffff"), "NOT_FOUND", {}),
    (("kb", "create", SLUG), "SLUG_TAKEN", {"slug": SLUG}),
    (("kb", "create", "No Slug"), "VALIDATION_ERROR", {"field": "slug", "reason": "notASlug"}),
    (
        ("key", "create", "--kb", SLUG, "--principal", "somebody"),
        "VALIDATION_ERROR",
        {"field": "principal", "reason": "malformed"},
    ),
    (
        ("kb", "configure", SLUG, "{wrong}"),
        "CONFIGURATION_INVALID",
        {"path": 'scopes."org:$org".acess', "reason": "unknownField"},
    ),
]


@pytest.mark.parametrize(("arguments", "code", "details"), REFUSALS)
def test_a_refusal_has_its_code_and_ends_with_1(
    tmp_path: Path, database: Path, arguments: tuple[str, ...], code: str, details: Json
) -> None:
    paths = {
        "folder": write_folder(tmp_path / "folder", {"a.md": ""}),
        "new": tmp_path / "new",
        "configuration": tmp_path / "configuration.toml",
        "wrong": tmp_path / "wrong.toml",
    }
    paths["configuration"].write_text(CONFIGURATION, "utf-8")
    paths["wrong"].write_text(CONFIGURATION.replace("access", "acess"), "utf-8")
    given = [argument.format(**paths) for argument in arguments]
    before = invoked(database, "kb", "list")
    error = invoke(database, *given).error
    assert (error["code"], error["details"]) == (code, details)
    assert error["message"].endswith(".")
    assert invoked(database, "kb", "list") == before


def test_a_scope_to_hold_that_is_no_address_is_refused(database: Path) -> None:
    made = ("key", "create", "--kb", SLUG, "--principal", "user:a", "--hold", "org:$org")
    assert invoke(database, *made).error["details"]["field"] == "hold"
    assert invoked(database, "key", "list", "--kb", SLUG) == {"items": []}


def test_a_configuration_that_is_no_text_is_refused(tmp_path: Path, database: Path) -> None:
    (tmp_path / "configuration.toml").write_bytes(b"\xff\xfe")
    error = invoke(database, "kb", "configure", SLUG, tmp_path / "configuration.toml").error
    assert "UTF-8" in error["message"]


@pytest.mark.parametrize("url", ["kb.db", "sqlite:///", "sqlite://kb.db", "mysql://x/y", ""])
def test_a_database_that_is_no_address_is_refused(url: str) -> None:
    ended = CliRunner().invoke(main, ["kb", "list", "--json", "--database", url])
    assert ended.exit_code == 1
    assert "sqlite:///PATH" in msgspec.json.decode(ended.stdout)["error"]["message"]


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("notes " * 1_000, "utf-8")
    error = invoke(other, "kb", "list").error
    assert "database" in error["message"]
    assert other.read_text("utf-8") == "notes " * 1_000
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, database: Path) -> None:
    invoked(database, "import", SLUG, write_folder(tmp_path / "in", {"a.md": ""}), "--scope", SCOPE)
    (tmp_path / "file").write_text("", "utf-8")
    refused = invoke(database, "export", SLUG, tmp_path / "file" / "out", "--scope", SCOPE).error
    assert str(tmp_path / "file") in refused["message"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    error = invoke(tmp_path / "missing" / "kb.db", "kb", "list").error
    assert str(tmp_path / "missing") in error["message"]
    assert list(tmp_path.iterdir()) == []


def test_another_schema_version_is_refused(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    error = invoke(database, "kb", "list").error
    assert error["code"] == "DATABASE_NOT_MIGRATED"
    assert error["details"] == {"found": 7, "needed": SCHEMA_VERSION}


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["kb", "create"],
        ["kb", "create", "a", "b"],
        ["import", SLUG, "nowhere", "--scope", SCOPE],
        ["import", SLUG, "."],
        ["export", SLUG, "x", "--scope", SCOPE, "--revision", "0"],
        ["key", "create", "--kb", SLUG],
        ["serve", "--port", "70000"],
        ["serve", "--log-level", "loud"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_ends_with_2(database: Path, arguments: list[str]) -> None:
    ended = CliRunner().invoke(main, [*arguments, "--database", url_of(database)])
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert "Error: " in ended.stderr


def test_people_read_sentences(tmp_path: Path) -> None:
    at = ["--database", url_of(tmp_path / "kb.db")]

    def say(*arguments: object) -> str:
        ended = CliRunner().invoke(main, [*map(str, arguments), *at])
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    assert say("kb", "list") == "No knowledge bases.\n"
    assert say("kb", "create", SLUG).startswith(f"Created {SLUG} (knowledge-base-")
    assert say("key", "list", "--kb", SLUG) == "No keys.\n"
    token = say("key", "create", "--kb", SLUG, "--principal", "user:a").strip()
    assert token.startswith("kbs_")
    listed = say("key", "list", "--kb", SLUG)
    assert token not in listed
    assert listed.endswith("  user:a  holds nothing\n")
    say("key", "create", "--kb", SLUG, "--principal", "user:b", "--hold", SCOPE, "--auditor")
    assert f"  user:b  holds {SCOPE}  grants auditor\n" in say("key", "list", "--kb", SLUG)
    folder = write_folder(tmp_path / "handbook", {"a.md": "# A\n"})
    assert "1 commit; pages created 1" in say("import", SLUG, folder, "--scope", SCOPE)
    assert "Exported 1 files" in say("export", SLUG, tmp_path / "out", "--scope", SCOPE)
    assert say("verify", SLUG).startswith("Verified ")
    assert "generation 2 is active" in say("rebuild", SLUG)
    assert say("migrate") == f"Schema version {SCHEMA_VERSION}.\n"
    refused = CliRunner().invoke(main, ["kb", "create", SLUG, *at])
    assert refused.exit_code == 1
    assert (refused.stdout, refused.stderr.startswith("SLUG_TAKEN: ")) == ("", True)


def test_the_database_may_come_from_the_environment(tmp_path: Path) -> None:
    at = environment(KBSTORE_DATABASE=url_of(tmp_path / "kb.db"))
    command = [sys.executable, "-m", "api.cli", "kb"]
    made = finish(start([*command, "create", SLUG, "--json"], env=at))
    assert made.json["slug"] == SLUG
    assert [item["slug"] for item in invoked(tmp_path / "kb.db", "kb", "list")["items"]] == [SLUG]


def test_a_terminal_gets_a_progress_bar(tmp_path: Path, database: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", log_lines(*([write(f"p{n}")] for n in range(20))))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command_of(database, "import", SLUG, log, "--scope", SCOPE),
        cwd=ROOT,
        env=environment(TERM="xterm", COLUMNS="100"),
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:
        pass  # The other side is closed: this is how a terminal ends.
    finally:
        os.close(ours)
    assert finish(process).json["commits"] == 20
    assert b"log.jsonl" in shown
    assert b"20/20" in shown


def test_a_log_of_the_server_is_json_on_standard_error(database: Path) -> None:
    with server(database) as served:
        with served.client(SLUG, "kbs_wrong") as client:
            answer = client.get("/revisions/active", headers={"x-request-id": "seen-in-the-log"})
        assert answer.status_code == 401
        ended = served.end()
    (line,) = (line for line in ended.err.splitlines() if "seen-in-the-log" in line)
    logged = msgspec.json.decode(line, type=dict[str, object])
    assert (logged["status"], logged["level"], logged["method"]) == (401, "info", "GET")
    assert ended.out == ""


def test_the_version_is_the_package_s() -> None:
    try:
        installed = version("kbstore")
    except PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert installed in CliRunner().invoke(main, ["--version"]).stdout
