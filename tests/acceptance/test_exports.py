"""The names of an export are safe, and lead back to the keys they were written for."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api.exporting import PATH_BYTES_MAX, export_scope
from api.imports.running import Importer
from api.wiring import Services, open_services
from kbstore.access import OPERATOR, Caller
from kbstore.domain.commands import (
    ANY_VERSION,
    Batch,
    CreatePage,
    EditPage,
    PageOperation,
    PageTarget,
)
from kbstore.domain.preparing import prepare_body
from kbstore.errors import ValidationError
from kbstore.ids import declared_page_id
from kbstore.service import CommandRequest
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.commits import Origin
from kbstore.text import clean_key, fold_key
from kbstore.texts import prepare_text
from tests.acceptance.folders import read_folder, write_archive, write_folder
from tests.acceptance.logs import SCOPE, SLUG, new_database, run_import
from tests.acceptance.pages import Pages, open_pages
from tests.acceptance.processes import Json, invoke, invoked, url_of


def export(database: Path, folder: Path, *more: object) -> Json:
    return invoked(database, "export", SLUG, folder, "--scope", SCOPE, *more)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return new_database(tmp_path)


def pages_of(database: Path) -> dict[str, str]:
    with open_pages(database, SLUG, SCOPE) as pages:
        return pages.files()


class Shelf:
    """A knowledge base in this process, to make pages of any kind on."""

    def __init__(self, services: Services) -> None:
        self.services = services
        found = find_knowledge_base(services.database.reader(), SLUG)
        assert found is not None
        self.found = found
        self.operator = Caller(principal="user:a", grants=frozenset({OPERATOR, "admin"}))

    def do(self, *operations: PageOperation) -> tuple[UUID, ...]:
        request = CommandRequest(
            kb_id=self.found.kb_id,
            caller=self.operator,
            command=Batch(operations=operations),
            origin=Origin(actor="user:a"),
        )
        subjects = self.services.commands.execute(request).result().subjects
        return tuple(subject.id for subject in subjects)

    def page(
        self, key: str | None, body: str, parent: PageTarget | None = None, scope: str = SCOPE
    ) -> CreatePage:
        ids = self.services.commands.ids
        return CreatePage(
            scope=scope,
            key=key,
            parent=parent,
            name=prepare_text("Name", ids),
            body=prepare_body(body, ids),
        )

    def top(self, body: str) -> EditPage:
        return EditPage(
            page=declared_page_id(self.found.kb_id, SCOPE, (), 0),
            expected_version=ANY_VERSION,
            body=prepare_body(body, self.services.commands.ids),
        )

    def declare(self, scope: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        Importer(self.services, self.found, scope, self.operator).run_folder(folder, quiet)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with open_shelf(new_database(tmp_path_factory.mktemp("shelf"))) as shelf:
        yield shelf


@contextmanager
def open_shelf(database: Path) -> Iterator[Shelf]:
    with open_services(url_of(database)) as services:
        yield Shelf(services)


def quiet(done: int, total: int | None) -> None:
    pass


def test_names_in_an_export_are_safe_and_its_own(tmp_path: Path, database: Path) -> None:
    run_import(database, write_folder(tmp_path / "handbook", {"index.md": "# A page\n"}))
    with open_shelf(database) as shelf:
        shelf.do(shelf.top("top"))
        (keyless,) = shelf.do(shelf.page(None, "keyless"))
        shelf.do(
            shelf.page("below", "below", keyless),
            shelf.page("..\\..\\up", "up"),
            shelf.page("C:drive", "drive"),
        )
    export(database, tmp_path / "out")
    assert read_folder(tmp_path / "out") == {
        "%69ndex.md": "# A page\n",
        "%scope.md": "top",
        f"%{keyless}.md": "keyless",
        f"%{keyless}/below.md": "below",
        "..%5C..%5Cup.md": "up",
        "C%3Adrive.md": "drive",
    }
    # What has a key comes back, from an archive too; the rest is passed over and counted.
    archive = write_archive(tmp_path / "out.zip", dict(read_folder(tmp_path / "out")))
    for number, source in enumerate([tmp_path / "out", archive]):
        (tmp_path / f"other {number}").mkdir()
        other = new_database(tmp_path / f"other {number}")
        report = run_import(other, source).json
        assert (report["created"], report["keyless"]) == (3, 3)
        assert pages_of(other) == {
            "index.md": "# A page\n",
            "..\\..\\up.md": "up",
            "C:drive.md": "drive",
        }


HARD = ["x", "x.md", "x.md.md", "index", "index.md", "log", ".md", "\N{GRINNING FACE}" * 100]
SCOPES = (f"org:{number}" for number in count())
KEYS = st.one_of(
    st.sampled_from(HARD),
    st.text(st.sampled_from("xX.md\\:\u030cé\N{GRINNING FACE}"), min_size=1, max_size=100),
    st.text(max_size=100),
)


def is_key(text: str) -> bool:
    try:
        return clean_key(text) == text
    except ValidationError:
        return False


@settings(max_examples=25, deadline=None)
@given(
    keys=st.lists(KEYS.filter(is_key), min_size=1, max_size=6, unique_by=fold_key),
    below=st.lists(KEYS.filter(is_key), max_size=3, unique_by=fold_key),
)
@example(keys=HARD, below=HARD)
def test_every_key_comes_back_from_an_export(
    shelf: Shelf, tmp_path_factory: pytest.TempPathFactory, keys: list[str], below: list[str]
) -> None:
    source, goal = next(SCOPES), next(SCOPES)
    folder = tmp_path_factory.mktemp("out")
    shelf.declare(source, folder / "none")
    tops = [shelf.page(key, f"body of {key}", scope=source) for key in keys]
    leaves = [
        shelf.page(key, f"body of {key} in {top}", f"${top}", source)
        for top in range(len(keys))
        for key in below
    ]
    shelf.do(*tops, *leaves)
    services, kb_id = shelf.services, shelf.found.kb_id
    first = export_scope(services.database, kb_id, source, None, folder / "a", quiet)
    assert first.files == len(tops) + len(leaves)
    report = Importer(services, shelf.found, goal, shelf.operator).run_folder(folder / "a", quiet)
    assert (report.created, report.keyless) == (first.files, 0)
    reader = services.database.reader()
    with reader.reading():
        one, other = (Pages(reader, SLUG, scope).files() for scope in (source, goal))
    assert one == other
    second = export_scope(services.database, kb_id, goal, None, folder / "b", quiet)
    assert second.sha256 == first.sha256


def test_a_path_that_is_too_long_is_refused_before_a_file_is_written(
    tmp_path: Path, database: Path
) -> None:
    with open_shelf(database) as shelf:
        shelf.declare(SCOPE, tmp_path / "none")
        key = "\N{GRINNING FACE}" * 100
        chain = [shelf.page(key, "x", f"${level - 1}" if level else None) for level in range(10)]
        shelf.do(shelf.page("a", "a"))
        shelf.do(*chain)
    refused = invoke(database, "export", SLUG, tmp_path / "out", "--scope", SCOPE)
    assert refused.code == 1
    assert refused.error["code"] == "STORE_ERROR"
    assert refused.error["details"]["limit"] == PATH_BYTES_MAX
    assert not (tmp_path / "out").exists()
