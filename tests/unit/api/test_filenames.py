"""Names of files: each leads back to its key, and no file stands where a folder has to."""

from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.filenames import (
    NAME_BYTES_MAX,
    SCOPE_PAGE,
    is_keyless,
    key_in,
    names_in,
    page_name,
    path_of,
    written,
)
from kbstore.errors import ValidationError
from kbstore.text import clean_key, fold_key

ID = UUID("4193abcd-0000-7000-8000-000000000001")


def is_key(text: str) -> bool:
    try:
        return clean_key(text) == text
    except ValidationError:
        return False


KEYS = (
    st.one_of(
        st.text(st.sampled_from(["x", "A", "é", "😀", ".", "m", "d", "\\", ":", " ", "\u030c"])),
        st.builds("{}{}".format, st.sampled_from(["index", "log", "", "a"]), st.just(".md")),
        st.text(st.characters(codec="utf-8"), max_size=100),
        st.text(st.sampled_from(["😀", "\\", "."]), min_size=60, max_size=100),
    )
    .map(lambda text: text[:100])
    .filter(is_key)
)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("refund", "refund"),
        ("日本 語", "日本 語"),
        ("index", "%69ndex"),
        ("Index", "%49ndex"),
        ("log", "%6Cog"),
        ("x.md", "%78.md"),
        ("x.MD", "%78.MD"),
        ("écrit.md", "%C3%A9crit.md"),
        (".md", "%2Emd"),
        # Their folders would have the path of the files of `x.md`, `index` and a keyless page.
        ("x.md.md", "%78.md%2Emd"),
        ("index.md", "%69ndex%2Emd"),
        (f"A{str(ID)[2:]}.md", f"%{ID}%2Emd"),
        ("a\\b", "a%5Cb"),
        ("C:x", "C%3Ax"),
        ("C:x.md", "%43%3Ax.md"),
        ("org:x", "org:x"),
    ],
)
def test_a_key_is_written(key: str, name: str) -> None:
    assert written(key) == name
    assert key_in(name) == key


@pytest.mark.parametrize(
    "name",
    ["%78", "50%", "%zz", "%FF.md", "%2e%2e", "..%2F..", "%69ndex.md", "%6cog", "%", "a%5cb"],
)
def test_a_name_that_no_key_is_written_as_has_none(name: str) -> None:
    assert key_in(name) is None


@given(st.lists(KEYS, min_size=1, max_size=10))
@example(["😀" * 100, "." * 100, "\\" * 100])
def test_a_path_leads_back_to_its_keys(keys: list[str]) -> None:
    path = path_of(written(key) for key in keys)
    assert [key_in(name) for name in names_in(path)] == keys
    parts = f"{path}.md".split("/")
    assert max(len(part.encode()) for part in parts) <= NAME_BYTES_MAX
    assert not {"", ".", ".."}.intersection(parts)
    assert not any("\\" in part for part in parts)


@given(KEYS, KEYS)
@example("x.md", "x.md.md")
@example("index", "index.md")
@example("x", "x.md")
def test_no_file_has_the_path_of_another_file_or_of_a_folder(one: str, other: str) -> None:
    """Also where a file system ignores letter case, as siblings do."""
    file, folder = (fold_key(path_of([written(key)])) for key in (one, other))
    assert f"{file}.md" != folder
    assert (file == folder) == (fold_key(one) == fold_key(other))


@given(KEYS)
def test_what_has_no_key_is_told_apart(key: str) -> None:
    keyless = page_name(None, ID)
    assert is_keyless((keyless,))
    assert is_keyless((keyless, written(key)))
    assert is_keyless((SCOPE_PAGE,))
    assert not is_keyless((written(key),))
    assert f"{keyless}.md" != path_of([written(key)])
