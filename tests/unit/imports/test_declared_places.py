"""Random logs into a scope that declares pages at some of their paths, through the real store."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.imports.mirror import read_mirror
from api.imports.plan import Handle
from api.imports.running import Importer
from api.imports.tree import FolderTree, Node
from api.wiring import Services
from kbstore.access import Caller
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.heads import read_head
from tests.knowledge import KnowledgeBase, fast_services
from tests.oplog_model import FolderModel, State
from tests.unit.imports.test_random_logs import draw_line

SCOPE = "org:acme"
DECLARED = {"a.md": "# Declared\n", "b/a.md": "x", "b/a/c.md": "y\nz"}
CONFIGURATION = """
[scopes."org:acme"]
access = [{ principal = "self", role = "owner" }]
pages = [
  { key = "a", name = "Declared", body = "# Declared\\n" },
  { key = "b", name = "b", pages = [
    { key = "a", name = "Other", body = "x", pages = [
      { key = "c", name = "c", body = "y\\nz" },
      { key = "b", name = "b" },
    ] },
  ] },
]
"""


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("declared")
    with fast_services(f"sqlite:///{folder / 'kb.db'}") as services:
        yield services


def nodes_of(tree: FolderTree) -> dict[str, tuple[Handle, Node]]:
    """Every page of a tree by its path, with all that is known of it."""
    found: dict[str, tuple[Handle, Node]] = {}
    pages = list(tree.children(None))
    for page in pages:
        pages.extend(tree.children(page))
        found["/".join(tree.path(page))] = (page, tree.node(page))
    return found


def files_of(tree: FolderTree) -> State:
    return frozenset(
        (f"{path}.md", node.body_sha256.hex())
        for path, (_, node) in nodes_of(tree).items()
        if node.body_sha256 is not None
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_pages_follow_the_folder_and_declared_ones_stay(
    services: Services, tmp_path: Path, data: st.DataObject
) -> None:
    kb = KnowledgeBase(services, CONFIGURATION)
    model = FolderModel()
    model.play({"op": "write", "path": path, "text": text} for path, text in DECLARED.items())
    lines, states = [], []
    for n in range(1, data.draw(st.integers(2, 5))):
        line = msgspec.to_builtins(draw_line(data, set(model.texts)))
        lines.append({"n": n, "at": "2024-01-01T00:00:00Z", "actor": "mira", "ops": line})
        states.append(model.play(line))
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    reader = services.database.reader()
    found = find_knowledge_base(reader, kb.slug)
    assert found is not None
    importer = Importer(services, found, SCOPE, Caller(principal="user:root"))

    def read() -> FolderTree:
        head = read_head(reader, kb.id)
        assert head is not None
        with reader.reading():
            return read_mirror(services, reader, head, SCOPE).tree

    declared = {path: page for path, (page, _) in nodes_of(read()).items()}

    def check(done: int, total: int | None) -> None:
        stored = read()
        assert files_of(stored) == states[done - 1]
        now = nodes_of(stored)
        assert {path: now[path][0] for path in declared} == declared
        assert importer._mirror is None or nodes_of(importer._mirror.tree) == now

    importer.run_log(log, check)
