"""Reading a folder of Markdown files, from a directory or a .zip, all checked before any use.

Nothing an archive says of itself is believed: names are checked as they are written in it,
sizes while inflating. What is refused is refused whole, and names the member.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from api.imports.members import Catalog, Inflow, check_name, is_markdown, refused
from api.imports.paths import Keys
from kbstore.errors import ImportInvalidError
from kbstore.limits import BODY_BYTES_MAX

_ENCRYPTED = 0x1
_NAMED_IN_UTF8 = 0x800
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What an archiver adds for itself: entries that are called .md and hold no Markdown.
_ARCHIVER_FOLDER = "__MACOSX/"
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


class ImportedFile(Struct, frozen=True):
    """A Markdown file: the keys its path stands for, and its text with single line feeds."""

    keys: Keys
    body: str


class ImportedFolder(Struct, frozen=True):
    """The Markdown files of a folder by path; `skipped` counts the other files, `keyless` the
    Markdown files of pages that no keys lead to."""

    files: tuple[ImportedFile, ...]
    skipped: int
    keyless: int = 0


def read_folder(path: Path) -> ImportedFolder:
    """All Markdown files (`.md`, `.markdown`) of a directory or a .zip archive.

    Raises ImportInvalidError, `reason` one of: path (a name that leads out), link, key,
    nesting, duplicate, size, text, too_many, archive, and source where `path` is neither.
    """
    if path.is_dir():
        return _read_directory(path)
    if not path.is_file() or (path.suffix.lower() != ".zip" and not zipfile.is_zipfile(path)):
        raise ImportInvalidError(f"{path.name!r} is no folder and no .zip archive", reason="source")
    return _read_archive(path)


def _bodies(catalog: Catalog, read: Callable[[str], bytes]) -> tuple[ImportedFile, ...]:
    inflow = Inflow()
    return tuple(
        ImportedFile(keys, inflow.body(name, read(name)))
        for keys, name in sorted(catalog.members.items())
    )


# --- a directory -----------------------------------------------------------------------------


def _read_directory(top: Path) -> ImportedFolder:
    root = top.resolve()
    catalog = Catalog()
    skipped = 0
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            name = f"{folder}{entry.name}"
            if entry.is_symlink():
                # What a link inside leads to comes in under its own name.
                if not Path(entry.path).resolve().is_relative_to(root):
                    raise refused(name, "link", "is a symbolic link that leads out of the folder")
                skipped += 1
            elif entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
            elif is_markdown(name):
                catalog.add(name)
            else:
                skipped += 1
    files = _bodies(catalog, lambda name: _read_file(root, name))
    return ImportedFolder(files, skipped, catalog.keyless)


def _read_file(root: Path, name: str) -> bytes:
    """At most one byte over the limit. The file may have become something else since."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(root / name, flags)
    except OSError as error:
        raise refused(name, "source", f"cannot be read: {error.strerror}") from None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - pathlib opens no descriptors
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise refused(name, "source", "is not a regular file")
        return file.read(BODY_BYTES_MAX + 1)


# --- an archive ------------------------------------------------------------------------------


def _read_archive(path: Path) -> ImportedFolder:
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        raise ImportInvalidError(
            f"{path.name!r} cannot be read as an archive: {error}", reason="archive"
        ) from None
    with archive:
        catalog = Catalog()
        entries: dict[str, zipfile.ZipInfo] = {}
        skipped = 0
        for entry in archive.infolist():
            name = _written_name(entry)
            _check_entry(entry, name)
            if name.endswith("/"):
                continue
            if name.startswith(_ARCHIVER_FOLDER) or not is_markdown(name):
                skipped += 1
                continue
            catalog.add(name)
            entries[name] = entry
        files = _bodies(catalog, lambda name: _inflate(archive, entries[name], name))
    return ImportedFolder(files, skipped, catalog.keyless)


def _written_name(entry: zipfile.ZipInfo) -> str:
    """The name as it stands in the archive: `filename` is already cut at a NUL.

    Without the flag for UTF-8 a name is taken for code page 437, but some archivers write
    UTF-8 all the same.
    """
    name = entry.orig_filename
    if entry.flag_bits & _NAMED_IN_UTF8:
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        return name


def _check_entry(entry: zipfile.ZipInfo, name: str) -> None:
    check_name(name)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise refused(name, "link", "is a symbolic link")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refused(name, "archive", "is neither a file nor a folder")


def _inflate(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> bytes:
    """At most one byte over the limit, whatever the headers say; the checksum is compared
    when the end is reached."""
    if entry.flag_bits & _ENCRYPTED:
        raise refused(name, "archive", "is encrypted")
    if entry.compress_type not in _METHODS:
        raise refused(name, "archive", "is compressed by a method other than deflate")
    try:
        with archive.open(entry) as member:
            return member.read(BODY_BYTES_MAX + 1)
    except _BROKEN as error:
        raise refused(name, "archive", f"cannot be inflated: {error}") from None
