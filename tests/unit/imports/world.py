"""A page store, the mirror an import keeps of it, and lines written in short."""

from collections.abc import Iterable
from uuid import UUID

from api.imports.oplog import DeleteFile, FileOperation, MoveFile, WriteFile
from api.imports.plan import Plan
from api.imports.planner import FolderTree, Texts, plan_line
from tests.unit.imports.page_store import PageStore


def title_of(body: str) -> str | None:
    """A stand-in for text analysis: the first line that starts with `# `."""
    return next((line[2:] for line in body.split("\n") if line.startswith("# ")), None)


def write(path: str, text: str = "text") -> WriteFile:
    return WriteFile(f"{path}.md", text)


def move(source: str, to: str) -> MoveFile:
    return MoveFile(f"{source}.md", f"{to}.md")


def delete(path: str) -> DeleteFile:
    return DeleteFile(f"{path}.md")


class World:
    """Every line goes through planner, store and mirror, which have to agree after it."""

    def __init__(self, *paths: str) -> None:
        self.store = PageStore()
        self.tree = FolderTree()
        self.line = 0
        self.asked: list[UUID] = []
        if paths:
            self.do(*(write(path, f"text of {path}") for path in paths))

    @property
    def texts(self) -> Texts:
        before = dict(self.store.pages)

        def body_of(page: UUID) -> str:
            self.asked.append(page)
            body = before[page].body
            assert body is not None
            return body

        return Texts(title_of, body_of)

    def do(self, *operations: FileOperation) -> Plan:
        return self.play(operations)

    def play(self, operations: Iterable[FileOperation]) -> Plan:
        self.line += 1
        plan = plan_line(self.tree, operations, self.texts, line=self.line)
        self.commit(plan)
        return plan

    def commit(self, plan: Plan) -> None:
        ids = self.store.commit(plan)
        self.tree.apply(plan, ids)

    def reload(self) -> None:
        """As after a restart: the mirror is made from what the store holds."""
        self.tree = FolderTree(self.store.existing())

    def id_at(self, path: str) -> UUID:
        return self.store.by_path()[path]

    def paths(self) -> set[str]:
        return set(self.store.by_path())

    def name_at(self, path: str) -> str:
        return self.store.pages[self.id_at(path)].name

    def body_at(self, path: str) -> str | None:
        return self.store.pages[self.id_at(path)].body
