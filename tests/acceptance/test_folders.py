"""A folder or an archive goes in as one commit, and comes out again as it was."""

import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from kbstore.limits import BODY_BYTES_MAX
from tests.acceptance.folders import read_folder, write_archive, write_folder
from tests.acceptance.logs import SCOPE, SLUG, head_revision, new_database, run_import
from tests.acceptance.pages import open_pages
from tests.acceptance.processes import Json, invoke, invoked

FILES = {
    "README.md": "# Read me\n",
    "policies.md": "---\ntitle: Policies\n---\n",
    "policies/refund.md": "# Refunds\n\nWithin 30 days.\n",
    "policies/überall/日本 語.md": "no heading, no line end",
    "deep/a/b/c/d/e/f/g/h/i.md": "",
    "notes/x.md.md": "a key that ends in .md\n",
}
# As an export writes them.
EXPORTED = {name.replace("notes/x.", "notes/%78."): text for name, text in FILES.items()}


def pages_of(database: Path) -> dict[str, str]:
    with open_pages(database, SLUG, SCOPE) as pages:
        return pages.files()


def export(database: Path, folder: Path, *more: object) -> Json:
    return invoked(database, "export", SLUG, folder, "--scope", SCOPE, *more)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return new_database(tmp_path)


# --- what goes in ---------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
def test_it_is_one_commit_and_a_second_run_changes_nothing(
    tmp_path: Path, database: Path, packed: bool
) -> None:
    source = (
        write_archive(tmp_path / "handbook.zip", FILES)
        if packed
        else write_folder(tmp_path / "handbook", FILES)
    )
    report = run_import(database, source).json
    # Six files, and the folders notes, deep and below, überall.
    assert report == {
        "commits": 1,
        "created": len(FILES) + 11,
        "edited": 0,
        "moved": 0,
        "deleted": 0,
        "unchanged": 0,
        "revisions": {},
    }
    assert pages_of(database) == FILES
    # Creation, the declaration of the scope, the folder.
    assert head_revision(database) == 3
    again = run_import(database, source).json
    assert (again["commits"], again["unchanged"]) == (0, len(FILES))
    assert head_revision(database) == 3
    assert invoked(database, "verify", SLUG)["ok"]


def test_a_changed_folder_changes_the_pages_that_differ(tmp_path: Path, database: Path) -> None:
    source = write_folder(tmp_path / "handbook", FILES)
    run_import(database, source)
    with open_pages(database, SLUG, SCOPE) as pages:
        before = pages.ids()
    changed = {"policies/refund.md": "# Refunds\n\nNever.\n", "new.md": "# New\n"}
    write_folder(source, changed)
    (source / "README.md").unlink()
    report = run_import(database, source).json
    assert (report["commits"], report["created"], report["edited"]) == (1, 1, 1)
    # A folder says what there is, not what there is no more.
    assert report["deleted"] == 0
    assert pages_of(database) == {**FILES, **changed}
    with open_pages(database, SLUG, SCOPE) as pages:
        assert before.items() <= pages.ids().items()


def test_line_ends_become_line_feeds(tmp_path: Path, database: Path) -> None:
    source = write_folder(tmp_path / "handbook", {"a.md": "one\r\ntwo\rthree\n"})
    run_import(database, source)
    assert pages_of(database) == {"a.md": "one\ntwo\nthree\n"}
    assert run_import(database, source).json["commits"] == 0


# --- what is refused --------------------------------------------------------------------------

LINK = 0o120777
ESCAPES: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "up": ({"../a.md": ""}, "../a.md", "path"),
    "up inside": ({"a/../../b.md": ""}, "a/../../b.md", "path"),
    "absolute": ({"/etc/a.md": ""}, "/etc/a.md", "path"),
    "drive": ({"C:\\a.md": ""}, "C:\\a.md", "path"),
    "drive with a slash": ({"C:/a.md": ""}, "C:/a.md", "path"),
    "backslashes": ({"a\\..\\b.md": ""}, "a\\..\\b.md", "path"),
    "dot": ({"a/./b.md": ""}, "a/./b.md", "path"),
    "empty part": ({"a//b.md": ""}, "a//b.md", "path"),
    "percent": ({"%2e%2e/a.md": ""}, "%2e%2e/a.md", "path"),
    "percent slash": ({"a%2f..%2f..%2fb.md": ""}, "a%2f..%2f..%2fb.md", "path"),
    "nul": ({"a\0.md": ""}, "a\0.md", "path"),
    "hash": ({"a#b.md": ""}, "a#b.md", "key"),
    "not markdown": ({"../a.png": ""}, "../a.png", "path"),
    "too deep": ({"/".join("abcdefghijk") + ".md": ""}, "a/b/c/d/e/f/g/h/i/j/k.md", "nesting"),
    "case": ({"a/Faq.md": "", "a/faq.md": ""}, "a/faq.md", "duplicate"),
    "case of a folder": ({"A/x.md": "", "a/y.md": ""}, "a/y.md", "duplicate"),
    "unicode form": ({"cafe\u0301.md": "", "caf\u00e9.md": ""}, "caf\u00e9.md", "duplicate"),
    "suffix": ({"a.markdown": "", "a.md": ""}, "a.md", "duplicate"),
    "not UTF-8": ({"a.md": b"\xff"}, "a.md", "text"),
    "NUL in a text": ({"a.md": "\0"}, "a.md", "text"),
    "oversize": ({"a.md": "x" * (BODY_BYTES_MAX + 1)}, "a.md", "size"),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_an_archive_with_a_bad_member_is_refused_whole(
    tmp_path: Path, database: Path, name: str
) -> None:
    members, refused, reason = ESCAPES[name]
    source = write_archive(tmp_path / "bad.zip", {"good.md": "# Good\n", **members})
    error = run_import(database, source).error
    assert error["code"] == "IMPORT_INVALID"
    assert error["details"] == {"member": refused, "reason": reason}
    assert head_revision(database) == 1
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".md"] == []


def test_a_link_in_an_archive_is_refused(tmp_path: Path, database: Path) -> None:
    source = write_archive(
        tmp_path / "bad.zip", {"good.md": "", "link.md": "/etc/passwd"}, **{"link.md": LINK}
    )
    assert run_import(database, source).error["details"] == {"member": "link.md", "reason": "link"}
    assert head_revision(database) == 1


def test_two_members_of_one_name_are_refused(tmp_path: Path, database: Path) -> None:
    source = tmp_path / "bad.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("a.md", "one")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.md", "two")
    details = run_import(database, source).error["details"]
    assert details == {"member": "a.md", "reason": "duplicate"}
    assert head_revision(database) == 1


def test_a_link_that_leads_out_of_a_folder_is_refused(tmp_path: Path, database: Path) -> None:
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    source = write_folder(tmp_path / "handbook", {"good.md": "# Good\n"})
    (source / "link.md").symlink_to(Path("..") / "secret.md")
    assert run_import(database, source).error["details"] == {"member": "link.md", "reason": "link"}
    assert head_revision(database) == 1


def test_what_is_no_archive_is_refused(tmp_path: Path, database: Path) -> None:
    source = tmp_path / "bad.zip"
    source.write_bytes(b"PK\x03\x04 and no more")
    assert run_import(database, source).error["details"]["reason"] == "archive"
    assert head_revision(database) == 1


# --- what comes out ---------------------------------------------------------------------------


def test_an_export_imported_again_gives_the_same_files(tmp_path: Path, database: Path) -> None:
    run_import(database, write_folder(tmp_path / "handbook", FILES))
    first = export(database, tmp_path / "out")
    assert first["files"] == len(FILES)
    assert first["revision"] == 3
    assert read_folder(tmp_path / "out") == EXPORTED
    (tmp_path / "other").mkdir()
    other = new_database(tmp_path / "other")
    run_import(other, tmp_path / "out")
    second = export(other, tmp_path / "again")
    assert read_folder(tmp_path / "again") == EXPORTED
    assert pages_of(other) == FILES
    assert second["sha256"] == first["sha256"]


def test_an_old_revision_exports_as_it_was(tmp_path: Path, database: Path) -> None:
    source = write_folder(tmp_path / "handbook", FILES)
    run_import(database, source)
    write_folder(source, {"README.md": "changed\n"})
    run_import(database, source)
    old = export(database, tmp_path / "old", "--revision", 3)
    assert read_folder(tmp_path / "old") == EXPORTED
    new = export(database, tmp_path / "new")
    assert read_folder(tmp_path / "new") == {**EXPORTED, "README.md": "changed\n"}
    assert old["sha256"] != new["sha256"]


def test_the_sum_is_the_one_sha256sum_prints(tmp_path: Path, database: Path) -> None:
    run_import(database, write_folder(tmp_path / "handbook", FILES))
    report = export(database, tmp_path / "out")
    listing = "".join(
        f"{sha256((tmp_path / 'out' / name).read_bytes()).hexdigest()}  {name}\n"
        for name in sorted(EXPORTED)
    )
    assert report["sha256"] == sha256(listing.encode()).hexdigest()


def test_a_revision_or_a_scope_that_is_not_there_is_refused(tmp_path: Path, database: Path) -> None:
    run_import(database, write_folder(tmp_path / "handbook", FILES))
    beyond = invoke(
        database, "export", SLUG, tmp_path / "x", "--scope", SCOPE, "--revision", 4
    ).error
    assert beyond["code"] == "REVISION_NOT_REACHED"
    nowhere = invoke(database, "export", SLUG, tmp_path / "x", "--scope", "org:other").error
    assert nowhere["code"] == "NOT_FOUND"
    assert not (tmp_path / "x").exists()
    write_folder(tmp_path / "full", {"a.txt": ""})
    full = invoke(database, "export", SLUG, tmp_path / "full", "--scope", SCOPE)
    assert full.code == 1
    assert read_folder(tmp_path / "full") == {"a.txt": ""}
