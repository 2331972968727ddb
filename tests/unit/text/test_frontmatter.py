import json
from collections.abc import Iterator
from unittest import mock

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kbstore.limits import FRONT_MATTER_BYTES_MAX
from kbstore.text import FrontMatter, frontmatter, split_front_matter
from kbstore.text.frontmatter import FRONT_MATTER_LEVELS_MAX


@pytest.fixture(params=["libyaml", "python"])
def _each_loader(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "python":
        with mock.patch.object(frontmatter, "_Loader", yaml.SafeLoader):
            yield
    else:
        yield


@pytest.mark.parametrize(
    "body",
    [
        "",
        "---",
        "---\n",
        "---\na: 1\n",
        "--- \na: 1\n---\n",
        "\n---\na: 1\n---\n",
        "----\na: 1\n---",
    ],
)
def test_without_front_matter(body: str) -> None:
    assert split_front_matter(body) == FrontMatter(0, None, None)


@pytest.mark.usefixtures("_each_loader")
@pytest.mark.parametrize(
    ("body", "end_line", "values"),
    [
        ("---\ntitle: A\n---\n# B\n", 3, {"title": "A"}),
        ("---\ntitle: A\n...\n---\n", 3, {"title": "A"}),
        ("---\n---\n", 2, {}),
        ("---\n# only a comment\n---", 3, {}),
        (
            "---\na: [1, 2.5, null, ~, true, x]\nb:\n  c: {d: 'e'}\n  f:\n  - g: []\n---\n",
            7,
            {"a": [1, 2.5, None, None, True, "x"], "b": {"c": {"d": "e"}, "f": [{"g": []}]}},
        ),
        (
            "---\nday: 2024-05-06\nat: 2024-05-06T07:08:09Z\nquoted: '2024-05-06'\n---\n",
            5,
            {"day": "2024-05-06", "at": "2024-05-06T07:08:09+00:00", "quoted": "2024-05-06"},
        ),
        (
            "---\non: 1\n2024: 2\nnull: 3\n'<<': 4\n---\n",
            6,
            {"on": 1, "2024": 2, "null": 3, "<<": 4},
        ),
        ("---\nt: |\n  ---\n  x\n---\n", 5, {"t": "---\nx\n"}),
        ("---\na: !!str 12\nb: !!int '7'\n---\n", 4, {"a": "12", "b": 7}),
        ("---\na: <<\n---\n", 3, {"a": "<<"}),
    ],
)
def test_front_matter(body: str, end_line: int, values: dict[str, object]) -> None:
    assert split_front_matter(body) == FrontMatter(end_line, values, None)


@pytest.mark.usefixtures("_each_loader")
@pytest.mark.parametrize(
    ("yaml_text", "error"),
    [
        ("- a\n- b", "front matter must be a mapping"),
        ("just text", "front matter must be a mapping"),
        ("a: [1", "line "),
        ("a: b: c", "line 2: mapping values"),
        ("a: 1\nb: 2\na: 3", "line 4: the key 'a' is given twice"),
        ("a: &x [1]\nb: *x", "line 3: aliases"),
        ("a: &x {b: 1}\n<<: {c: 1}", "line 3: merge keys"),
        ("a: !!binary aGk=", "line 2: the tag"),
        ("a: !!python/object/apply:os.getcwd []", "line 2: the tag"),
        ("a: !thing {}", "line 2: the tag"),
        ("a: !!set {b}", "line 2: the tag"),
        ("? [a]\n: b", "line 2: a key must be"),
        ("a: .inf", "line 2: a number must be finite"),
        ("a: .nan", "line 2: a number must be finite"),
        ("a: 18446744073709551616", "line 2: an integer must fit"),
        ("a: -9223372036854775809", "line 2: an integer must fit"),
        ("a: " + "9" * 5000, "line 2: "),
        ("a: 2024-13-45", "line 2: '2024-13-45' is not a value"),
        ("a: !!int x", "line 2: 'x' is not a value"),
        ("a: !!bool x", "line 2: 'x' is not a value"),
        ('a: "\\0"', "line 2: a string contains a NUL"),
        ('a: "\\ud800"', "line 2: "),
        ("a: \x01", "invalid YAML"),
        ("a: 1\n--- \nb: 2", "line 3: more than one YAML document"),
    ],
)
def test_what_is_not_front_matter_stays_text(yaml_text: str, error: str) -> None:
    found = split_front_matter(f"---\n{yaml_text}\n---\n# Title\n")
    assert (found.end_line, found.values) == (0, None)
    assert found.error is not None
    assert found.error.startswith(error)


@pytest.mark.parametrize("character", ["x", "é"])
def test_the_size_limit(character: str) -> None:
    filler = character * ((FRONT_MATTER_BYTES_MAX - len("a: \n")) // len(character.encode()))
    assert split_front_matter(f"---\na: {filler}\n---\n").values == {"a": filler}
    over = split_front_matter(f"---\na: {filler}x\n---\n")
    assert over == FrontMatter(0, None, "front matter is longer than 8192 bytes")


def test_the_nesting_limit() -> None:
    def nested(levels: int) -> FrontMatter:
        inner = levels - 1  # the mapping itself is the first level
        return split_front_matter(f"---\na: {'[' * inner}{']' * inner}\n---\n")

    assert nested(FRONT_MATTER_LEVELS_MAX).error is None
    assert nested(FRONT_MATTER_LEVELS_MAX + 1).error == "line 2: nested deeper than 20 levels"
    assert split_front_matter("---\n" + "[" * 8000 + "\n---\n").error is not None
    assert split_front_matter("---\n" + "- " * 4000 + "\n---\n").error is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text("aé測 :#-'\"\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc"), JSON, max_size=4))
def test_json_written_as_yaml_comes_back(values: dict[str, object]) -> None:
    body = f"---\n{json.dumps(values)}\n---\n"
    assert split_front_matter(body) == FrontMatter(3, values, None)


@given(st.text("-.\nab:[]{}&*!|>'\"#%@ \t,?<~0\x00\ud800"))
def test_no_text_makes_it_fail(text: str) -> None:
    found = split_front_matter(f"---\n{text}\n---\n")
    assert (found.values is None) == (found.end_line == 0)
    if found.values is not None:
        json.dumps(found.values, allow_nan=False)
