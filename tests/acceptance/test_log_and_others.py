"""An import that is not alone: others write to its pages before, between and during its lines."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import UNSET

from api.imports.running import Importer, ImportReport
from api.wiring import Services, open_services
from kbstore.access import OPERATOR, Caller
from kbstore.domain.commands import ANY_VERSION, Command, DeletePage, EditPage, MovePage
from kbstore.domain.preparing import prepare_body
from kbstore.errors import ImportInvalidError
from kbstore.service import CommandRequest
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.commits import Origin
from tests.acceptance.logs import (
    SCOPE,
    SLUG,
    Operation,
    delete,
    log_lines,
    move,
    new_database,
    write,
    write_log,
)
from tests.acceptance.pages import Pages
from tests.acceptance.processes import url_of

OPERATING = Caller(principal="user:importer", grants=frozenset({"admin"}))
OTHER = Caller(principal="user:other", grants=frozenset({OPERATOR}))


class Stopped(Exception):
    """Ends an import after a line, as a kill between two lines would."""


class Scene:
    """A knowledge base with an import that can be stopped, and somebody else."""

    def __init__(self, services: Services, folder: Path) -> None:
        self.services = services
        self._folder = folder

    def run(self, *lines: list[Operation], after: dict[int, Callable[[], None]]) -> ImportReport:
        """Imports a log; `after` says what happens once that many lines are done."""
        log = write_log(self._folder / "log.jsonl", log_lines(*lines))
        found = find_knowledge_base(self.services.database.reader(), SLUG)
        assert found is not None
        importer = Importer(self.services, found, SCOPE, OPERATING)
        return importer.run_log(log, lambda done, total: after.get(done, lambda: None)())

    def stop(self) -> None:
        raise Stopped

    @property
    def pages(self) -> Pages:
        return Pages(self.services.database.reader(), SLUG, SCOPE)

    def edit(self, path: str, text: str) -> None:
        body = prepare_body(text, self.services.commands.ids)
        page = self.pages.ids()[path]
        self._execute(EditPage(page=page, expected_version=ANY_VERSION, body=body, name=UNSET))

    def move(self, path: str, key: str) -> None:
        page = self.pages.ids()[path]
        self._execute(MovePage(page=page, expected_version=ANY_VERSION, key=key))

    def delete(self, path: str) -> None:
        self._execute(DeletePage(page=self.pages.ids()[path], expected_version=ANY_VERSION))

    def _execute(self, command: Command) -> None:
        found = find_knowledge_base(self.services.database.reader(), SLUG)
        assert found is not None
        kb_id: UUID = found.kb_id
        origin = Origin(actor=OTHER.principal)
        request = CommandRequest(kb_id=kb_id, caller=OTHER, command=command, origin=origin)
        self.services.commands.execute(request).result()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_services(url_of(new_database(tmp_path))) as services:
        yield Scene(services, tmp_path)


LINES = ([write("a", "one")], [write("b")], [write("a", "three")], [move("b", "c")])


def test_a_finished_import_leaves_later_edits_alone(scene: Scene) -> None:
    first = scene.run(*LINES, after={})
    scene.edit("a", "by somebody")
    again = scene.run(*LINES, after={})
    assert again.commits == 0
    assert again.revisions == first.revisions
    assert scene.pages.files()["a.md"] == "by somebody"


def test_a_resumed_import_goes_on_from_the_page_as_it_is_now(scene: Scene) -> None:
    with pytest.raises(Stopped):
        scene.run(*LINES, after={2: scene.stop})
    page = scene.pages.ids()["a"]
    scene.edit("a", "by somebody")
    report = scene.run(*LINES, after={})
    assert report.commits == 2
    # 1 and 2 set up; the edit of somebody stands between lines 2 and 3.
    assert report.revisions == {1: 3, 2: 4, 3: 6, 4: 7}
    assert scene.pages.ids()["a"] == page
    assert scene.pages.versions()["a"] == 3
    assert scene.pages.files(5)["a.md"] == "by somebody"
    assert scene.pages.files() == {"a.md": "three", "c.md": "# b\n"}


def test_a_line_that_says_what_somebody_wrote_already_changes_nothing(scene: Scene) -> None:
    with pytest.raises(Stopped):
        scene.run(*LINES, after={2: scene.stop})
    scene.edit("a", "three")
    report = scene.run(*LINES, after={})
    assert report.revisions[3] == report.revisions[2]
    assert report.unchanged == 1
    assert scene.pages.versions()["a"] == 2


def test_a_file_that_somebody_moved_is_written_anew(scene: Scene) -> None:
    with pytest.raises(Stopped):
        scene.run(*LINES, after={2: scene.stop})
    page = scene.pages.ids()["a"]
    scene.move("a", "away")
    scene.run(*LINES, after={})
    ids = scene.pages.ids()
    assert ids["away"] == page
    assert ids["a"] != page
    assert scene.pages.files() == {"away.md": "one", "a.md": "three", "c.md": "# b\n"}


def test_a_file_that_somebody_deleted_cannot_be_moved(scene: Scene) -> None:
    with pytest.raises(Stopped):
        scene.run(*LINES, after={3: scene.stop})
    scene.delete("b")
    before = scene.pages.head.revision
    with pytest.raises(ImportInvalidError) as refused:
        scene.run(*LINES, after={})
    assert refused.value.details == {"line": 4, "reason": "file"}
    assert scene.pages.head.revision == before


@pytest.mark.parametrize(
    ("third", "files"),
    [
        ([write("a", "three")], {"a.md": "three", "b.md": "# b\n"}),
        ([move("a", "c")], {"c.md": "in between", "b.md": "# b\n"}),
        ([delete("a")], {"b.md": "# b\n"}),
        ([move("b", "a/b")], {"a.md": "in between", "a/b.md": "# b\n"}),
    ],
)
def test_who_writes_while_the_import_runs_costs_it_a_new_plan(
    scene: Scene, third: list[Operation], files: dict[str, str]
) -> None:
    page = scene.pages
    lines = (LINES[0], LINES[1], third)
    report = scene.run(*lines, after={2: lambda: scene.edit("a", "in between")})
    assert page.head.revision == 1
    assert report.commits == 3
    assert report.revisions == {1: 3, 2: 4, 3: 6}
    assert scene.pages.files() == files


def test_a_key_that_is_taken_while_the_import_runs_leads_to_that_page(scene: Scene) -> None:
    report = scene.run(
        [write("a")],
        [write("b")],
        [write("taken", "from the log")],
        after={2: lambda: scene.move("b", "taken")},
    )
    assert report.created == 2
    assert scene.pages.files() == {"a.md": "# a\n", "taken.md": "from the log"}
