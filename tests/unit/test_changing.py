"""`docs/internals/changing.md` names files and names that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/internals/changing.md").read_text("utf-8")
NAMES = set(re.findall(r"`([^`]+)`", PAGE))
PATHS = sorted(name for name in NAMES if "/" in name)
CODE = sorted(name for name in NAMES if re.fullmatch(r"[A-Z_]{4,}|[a-z_]+", name))


@pytest.mark.parametrize("path", PATHS)
def test_each_file_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", CODE)
def test_each_name_is_in_a_file_of_its_row(name: str) -> None:
    for row in PAGE.splitlines():
        if f"`{name}`" not in row:
            continue
        paths = [ROOT / path for path in PATHS if f"`{path}`" in row]
        files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
        texts = (file.read_text("utf-8") for file in files if file.suffix == ".py")
        assert any(name in text for text in texts), row
