"""Operation logs written by a test, imported in this process, checked state by state."""

from pathlib import Path

import msgspec

from tests.acceptance.pages import open_pages
from tests.acceptance.processes import Ended, Json, invoke, invoked
from tests.oplog_model import FolderModel

SLUG = "handbook"
SCOPE = "org:acme"

Operation = dict[str, str]


def write(path: str, text: str | None = None) -> Operation:
    return {"op": "write", "path": f"{path}.md", "text": f"# {path}\n" if text is None else text}


def move(source: str, to: str) -> Operation:
    return {"op": "move", "from": f"{source}.md", "to": f"{to}.md"}


def delete(path: str) -> Operation:
    return {"op": "delete", "path": f"{path}.md"}


def log_lines(*lines: list[Operation]) -> list[Json]:
    return [
        {"n": n, "at": f"2024-01-{n:02}T00:00:00Z", "actor": "mira", "ops": operations}
        for n, operations in enumerate(lines, 1)
    ]


def write_log(path: Path, lines: list[Json]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def new_database(folder: Path) -> Path:
    database = folder / "kb.db"
    invoked(database, "kb", "create", SLUG)
    return database


def run_import(database: Path, source: Path) -> Ended:
    return invoke(database, "import", SLUG, source, "--scope", SCOPE)


def head_revision(database: Path) -> int:
    (found,) = invoked(database, "kb", "list")["items"]
    revision = found["revision"]
    assert isinstance(revision, int)
    return revision


class Played:
    """A log that was imported into a database of its own, every state as in a plain folder."""

    def __init__(self, folder: Path, *lines: list[Operation]) -> None:
        self.database = new_database(folder)
        self.lines = log_lines(*lines)
        self.log = write_log(folder / "log.jsonl", self.lines)
        ended = run_import(self.database, self.log)
        assert ended.code == 0, ended
        self.report = ended.json
        self.revisions = {int(n): at for n, at in self.report["revisions"].items()}
        self.check()

    def check(self) -> None:
        model = FolderModel()
        with open_pages(self.database, SLUG, SCOPE) as pages:
            for line in self.lines:
                state = model.play(line["ops"])
                assert pages.state(self.revisions[line["n"]]) == state, line["n"]
        assert invoked(self.database, "verify", SLUG)["ok"]
