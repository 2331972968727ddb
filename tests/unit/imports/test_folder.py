"""Reading folders and archives: everything is checked, and a refusal names the member (C61)."""

import os
import stat
import struct
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from api.imports import members
from api.imports.folder import ImportedFile, ImportedFolder, read_folder
from kbstore.errors import ImportInvalidError
from kbstore.limits import BODY_BYTES_MAX, IMPORT_OPERATIONS_PER_LINE_MAX, NESTING_LEVELS_MAX


def zipped(
    path: Path, entries: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo("x")
            # The constructor cleans names; an attacker does not.
            info.filename = name
            info.compress_type = method
            archive.writestr(info, data)
    return path


def refusal_of(path: Path) -> tuple[object, object]:
    with pytest.raises(ImportInvalidError) as caught:
        read_folder(path)
    return caught.value.details.get("member"), caught.value.details["reason"]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive.zip"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


FILES: dict[str, bytes | str] = {
    "README.md": "# Hi\r\n",
    "a/b.MARKDOWN": "b",
    "a/b/c.md": "",
    "a/logo.png": b"\x89\xff",
}
READ = ImportedFolder(
    (
        ImportedFile(("README",), "# Hi\n"),
        ImportedFile(("a", "b"), "b"),
        ImportedFile(("a", "b", "c"), ""),
    ),
    1,
)


def test_a_directory_and_an_archive_read_alike(folder: Path, archive: Path) -> None:
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    assert read_folder(folder) == READ
    assert read_folder(zipped(archive, {**FILES, "a/": b""})) == READ
    assert read_folder(zipped(archive, FILES, zipfile.ZIP_STORED)) == READ


@pytest.mark.parametrize(
    "name",
    [
        "../a.md",
        "a/../../b.md",
        "/etc/a.md",
        "/a.png",
        "C:\\a.md",
        "C:/a.md",
        "c:a.md",
        "a\\..\\b.md",
        "a\\b.md",
        "\\\\host\\share\\a.md",
        "a/./b.md",
        "./a.md",
        "a//b.md",
        "..",
        "../",
        "a\0.md",
        "a.png\0.md",
        "%2e%2e/a.md",
        "%2E%2E/",
        "a/%2e%2e/x.png",
        "..%2fa.png",
        "%5c..%5ca.png",
        "%/%../a.png",
        "a/%/%.%/%./b.md",
        ".md",
    ],
)
def test_names_that_lead_out_are_refused(archive: Path, name: str) -> None:
    zipped(archive, {"good.md": "good", name: "bad"})
    assert refusal_of(archive) == (name, "path")


KEYLESS = "%0199a1c2-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("%69ndex.md", ("index",)),
        ("%78.md.md", ("x.md",)),
        ("x.md.md", ("x.md",)),
        ("%6Cog/a.markdown", ("log", "a")),
        ("..%5C..%5Cup/C%3Ax.md", ("..\\..\\up", "C:x")),
        ("a/" + "é" * 90 + "%/%" + "ab/c.md", ("a", "é" * 90 + "ab", "c")),
    ],
)
def test_names_of_an_export_are_read_back(
    archive: Path, folder: Path, name: str, keys: tuple[str, ...]
) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"x")
    read = ImportedFolder((ImportedFile(keys, "x"),), 0)
    assert read_folder(folder) == read_folder(zipped(archive, {name: "x"})) == read


def test_files_of_pages_without_keys_are_passed_over(archive: Path) -> None:
    names = [f"{KEYLESS}.md", f"{KEYLESS}/below.md", f"a/{KEYLESS}/b/c.md", "%scope.md"]
    zipped(archive, {"a.md": "x", **dict.fromkeys(names, "y")})
    assert read_folder(archive) == ImportedFolder((ImportedFile(("a",), "x"),), 0, len(names))


def test_two_spellings_of_a_key_are_one_page(archive: Path) -> None:
    zipped(archive, {"x.md.md": "one", "%78.md.md": "two"})
    assert refusal_of(archive) == ("%78.md.md", "duplicate")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a#b.md", "key"),
        ("50%.md", "key"),
        ("%78.md", "key"),
        ("%6Cogs.md", "key"),
        ("a/%scope.md", "key"),
        ("a\nb.md", "key"),
        ("k" * 101 + ".md", "key"),
        ("/".join("k" * (NESTING_LEVELS_MAX + 1)) + ".md", "nesting"),
    ],
)
def test_names_that_are_no_keys_are_refused(
    archive: Path, folder: Path, name: str, reason: str
) -> None:
    assert refusal_of(zipped(archive, {"good.md": "", name: ""})) == (name, reason)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).touch()
    assert refusal_of(folder) == (name, reason)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.md", "A.md"),
        ("a.md", "a.MD"),
        ("a.md", "a.markdown"),
        ("docs/a.md", "Docs/b.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("straße.md", "STRASSE.md"),
    ],
)
def test_names_equal_after_folding_are_refused(
    archive: Path, folder: Path, first: str, second: str
) -> None:
    assert refusal_of(zipped(archive, {first: "1", second: "2"})) == (second, "duplicate")
    for name in (first, second):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    if len([path for path in folder.rglob("*") if path.is_file()]) == 2:
        member, reason = refusal_of(folder)
        assert reason == "duplicate"
        assert member in (first, second)


def test_the_same_name_twice_is_refused(archive: Path) -> None:
    with zipfile.ZipFile(archive, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr("a.md", "1")
        file.writestr("a.md", "2")
    assert refusal_of(archive) == ("a.md", "duplicate")


def test_links_in_an_archive_are_refused(archive: Path) -> None:
    for kind, reason in ((stat.S_IFLNK, "link"), (stat.S_IFIFO, "archive")):
        info = zipfile.ZipInfo("link.png")
        info.external_attr = (kind | 0o777) << 16
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr(info, "/etc/passwd")
        assert refusal_of(archive) == ("link.png", reason)


def test_links_that_lead_out_of_a_directory_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (folder / "a.md").write_text("a")
    (folder / "inside.md").symlink_to("a.md")
    (folder / "round").symlink_to(".", target_is_directory=True)
    assert read_folder(folder) == ImportedFolder((ImportedFile(("a",), "a"),), 2)
    for target in ("../secret.md", tmp_path / "secret.md", "..", "/nowhere"):
        (folder / "out").symlink_to(target)
        assert refusal_of(folder) == ("out", "link")
        (folder / "out").unlink()


def test_a_folder_may_itself_be_a_link(folder: Path, tmp_path: Path) -> None:
    (folder / "a.md").write_text("a")
    (tmp_path / "link").symlink_to(folder)
    assert read_folder(tmp_path / "link").files == (ImportedFile(("a",), "a"),)


def test_a_pipe_does_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    assert refusal_of(folder) == ("pipe.md", "source")


@pytest.mark.parametrize("data", [b"caf\xe9", b"a\0b", b"\xed\xa0\x80"])
def test_bodies_are_text(archive: Path, folder: Path, data: bytes) -> None:
    assert refusal_of(zipped(archive, {"a.md": data})) == ("a.md", "text")
    (folder / "a.md").write_bytes(data)
    assert refusal_of(folder) == ("a.md", "text")


def test_bodies_are_bounded_while_inflating(archive: Path, folder: Path) -> None:
    fitting = b"x" * BODY_BYTES_MAX
    (folder / "a.md").write_bytes(fitting)
    assert read_folder(folder).files == read_folder(zipped(archive, {"a.md": fitting})).files
    (folder / "a.md").write_bytes(fitting + b"x")
    assert refusal_of(folder) == ("a.md", "size")
    assert refusal_of(zipped(archive, {"a.md": fitting + b"x"})) == ("a.md", "size")


def test_all_bodies_together_are_bounded(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped(archive, {"a.md": "x" * 60, "b.md": "x" * 40, "c.png": "x" * 500})
    monkeypatch.setattr(members, "IMPORT_INFLATED_BYTES_MAX", 100)
    assert len(read_folder(archive).files) == 2
    monkeypatch.setattr(members, "IMPORT_INFLATED_BYTES_MAX", 99)
    assert refusal_of(archive) == ("b.md", "size")


def test_sizes_in_headers_are_not_believed(archive: Path) -> None:
    body = b"x" * (BODY_BYTES_MAX + 1)
    raw = zipped(archive, {"a.md": body}).read_bytes()
    for claimed in (10, BODY_BYTES_MAX):
        archive.write_bytes(raw.replace(struct.pack("<L", len(body)), struct.pack("<L", claimed)))
        assert refusal_of(archive) == ("a.md", "archive")


def test_the_number_of_files_is_bounded(archive: Path) -> None:
    names = [f"p{number}.md" for number in range(IMPORT_OPERATIONS_PER_LINE_MAX + 1)]
    assert len(read_folder(zipped(archive, dict.fromkeys(names[:-1], ""))).files) == len(names) - 1
    assert refusal_of(zipped(archive, dict.fromkeys(names, ""))) == (names[-1], "too_many")


def test_damaged_and_foreign_archives_are_refused(archive: Path, tmp_path: Path) -> None:
    raw = zipped(archive, {"a.md": "text " * 100}).read_bytes()
    archive.write_bytes(raw[:40] + bytes([raw[40] ^ 0xFF]) + raw[41:])
    assert refusal_of(archive) == ("a.md", "archive")
    archive.write_bytes(raw[:-10])
    assert refusal_of(archive) == (None, "archive")
    assert refusal_of(zipped(archive, {"a.md": "text"}, zipfile.ZIP_BZIP2)) == ("a.md", "archive")
    # The flag for encryption, in the local header and in the directory.
    encrypted = bytearray(raw)
    encrypted[6] |= 1
    encrypted[raw.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(encrypted)
    assert refusal_of(archive) == ("a.md", "archive")
    (tmp_path / "notes.txt").write_text("text")
    assert refusal_of(tmp_path / "notes.txt") == (None, "source")
    assert refusal_of(tmp_path / "nothing") == (None, "source")


def test_names_in_utf8_without_the_flag_are_read(archive: Path) -> None:
    raw = zipped(archive, {"cafX.md": "x", "__MACOSX/._cafX.md": b"\x00\x05\x16"}).read_bytes()
    # Same length in bytes: `fX` becomes the two bytes of `é`, in all headers, without the flag.
    archive.write_bytes(raw.replace(b"fX", "é".encode()))
    folder = read_folder(archive)
    assert folder == ImportedFolder((ImportedFile(("caé",), "x"),), 1)


def test_names_that_are_no_unicode_are_shown_escaped(folder: Path) -> None:
    try:
        (folder / os.fsdecode(b"a\xff.md")).touch()
    except OSError:
        pytest.skip("this file system keeps Unicode names only")
    member, reason = refusal_of(folder)
    assert reason == "key"
    assert str(member).isascii()
    assert str(member).endswith(".md")
