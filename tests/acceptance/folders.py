"""Folders and archives of Markdown files, written and read by a test."""

import zipfile
from collections.abc import Mapping
from pathlib import Path


def write_folder(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


def write_archive(path: Path, files: Mapping[str, str | bytes], **members: int) -> Path:
    """A .zip; `members` gives some of them the external attributes of a Unix mode."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo("member")
            # The constructor cleans names; an attacker does not.
            info.filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = members.get(name, 0o100644) << 16
            archive.writestr(info, text)
    return path


def read_folder(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in folder.rglob("*")
        if path.is_file()
    }
