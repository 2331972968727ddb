"""The house rules a program can check: import directions, sizes, and what no file may hold."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PACKAGES = ("kbstore", "projections", "api")
"""Innermost first: each may import itself and those before it."""

DOOR_LIBRARIES = {
    "litestar",
    "uvicorn",
    "uvloop",
    "httptools",
    "click",
    "rich",
    "httpx",
    "httpcore",
}
"""Only `api` speaks HTTP or to a terminal."""

NOT_SHIPPED = {"tests", "benchmarks", "pytest", "hypothesis"}

MODULE_LINES_MAX = 400

# Written in pieces, so that this file does not find itself.
MACHINE_PATH = re.compile("/(?:" + "|".join(["work", "farm", "root", "home", "Users"]) + ")/")
REGISTRY_HOST = re.compile(
    "|".join(["py" + r"pi\.org", "python" + "hosted", "npm" + r"js\.", r"deb\.deb" + "ian"])
)


def imported_modules(source: str, package: str) -> Iterator[str]:
    """The full name of every module a source imports, wherever the statement stands.

    `package` is the one the source's module lives in; relative imports start there.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")
            above = base[: len(base) - node.level + 1] if node.level else []
            yield ".".join([*above, *([node.module] if node.module else [])])


def wrong_imports(source: str, package: str) -> set[str]:
    """The imports of a source that its package must not have."""
    top = package.split(".")[0]
    banned = NOT_SHIPPED | set(PACKAGES[PACKAGES.index(top) + 1 :])
    if top != "api":
        banned |= DOOR_LIBRARIES
    return {name for name in imported_modules(source, package) if name.split(".")[0] in banned}


def modules_of(*tops: str) -> list[Path]:
    return sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def project_files() -> list[Path]:
    """Every file git tracks or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and a checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("path", modules_of(*PACKAGES), ids=relative)
def test_imports_run_one_way(path: Path) -> None:
    package = ".".join(path.relative_to(ROOT).parent.parts)
    assert wrong_imports(path.read_text("utf-8"), package) == set()


@pytest.mark.parametrize(
    ("package", "source", "wrong"),
    [
        ("kbstore", "import projections.pages", {"projections.pages"}),
        ("kbstore.domain", "def f():\n    from api import app", {"api"}),
        ("kbstore.store", "from litestar import get", {"litestar"}),
        ("projections", "from api.tools import registry\nimport kbstore", {"api.tools"}),
        ("projections.read", "from ...api import x", {"api"}),
        ("projections", "from .pages import x\nfrom kbstore.errors import y", set()),
        ("api", "import tests.support", {"tests.support"}),
        ("api.http", "import projections, kbstore.ids, litestar", set()),
    ],
)
def test_a_wrong_import_is_seen(package: str, source: str, wrong: set[str]) -> None:
    assert wrong_imports(source, package) == wrong


@pytest.mark.parametrize("path", modules_of(*PACKAGES, "tests", "benchmarks"), ids=relative)
def test_modules_are_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MODULE_LINES_MAX


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in modules_of(*PACKAGES)}), ids=relative
)
def test_every_folder_says_what_lives_there(folder: Path) -> None:
    init = folder / "__init__.py"
    assert init.is_file()
    assert ast.get_docstring(ast.parse(init.read_text("utf-8")))


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY_HOST], ids=["paths", "registries"])
def test_no_file_names_a_machine_or_a_registry(pattern: re.Pattern[str]) -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_the_patterns_see_what_they_are_for() -> None:
    for top in ("work", "farm", "root", "home"):
        assert MACHINE_PATH.search(f'open("/{top}/data")')
    for host in (["py", "pi.org"], ["files.python", "hosted.org"], ["registry.npm", "js.org"]):
        assert REGISTRY_HOST.search(f"https://{''.join(host)}/simple")
