import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.limits import DIFF_BYTES_MAX
from kbstore.text import merge_lines, unified_diff
from kbstore.text.matching import find_edits

BODIES = st.lists(st.sampled_from(["a", "b", "c", "", "dd", "测"]), max_size=14).map("\n".join)


def diff(before: str, after: str) -> str:
    return unified_diff(before, after, "version 1", "version 2")


def apply_diff(before: str, patch: str) -> str:
    """The text a unified diff makes of `before`, every context line checked."""
    old = re.findall(r"[^\n]*\n|[^\n]+", before)
    text = patch.replace("\n\\ No newline at end of file\n", "\0")
    new: list[str] = []
    at = 0
    rows = re.findall(r"[^\n\0]*[\n\0]", text)[2:]
    for row in rows:
        if header := re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", row):
            start = int(header[1]) - (header[2] != "0")
            new += old[at:start]
            at = start
            assert len(new) == int(header[3]) - (header[4] != "0")
            continue
        line = row[1:].replace("\0", "")
        if row[0] in " -":
            assert old[at] == line
            at += 1
        if row[0] in " +":
            new.append(line)
    return "".join(new + old[at:])


@pytest.mark.parametrize(
    ("before", "after", "hunks"),
    [
        ("a\n", "a\n", None),
        ("a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        (
            "a",
            "a\n",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
        ),
        (
            "a\nb",
            "x\nb",
            "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n",
        ),
        ("a\n\n", "a\n", "@@ -1,2 +1 @@\n a\n-\n"),
    ],
)
def test_unified_diff(before: str, after: str, hunks: str | None) -> None:
    expected = "" if hunks is None else f"--- version 1\n+++ version 2\n{hunks}"
    assert diff(before, after) == expected


def test_context_is_three_lines_and_hunks_that_meet_are_one() -> None:
    lines = [str(n) for n in range(30)]
    near, far = lines.copy(), lines.copy()
    near[5] = near[12] = "x"
    far[5] = far[13] = "x"
    assert diff("\n".join(lines), "\n".join(near)).count("@@ -") == 1
    assert re.findall("@@.*@@", diff("\n".join(lines), "\n".join(far))) == [
        "@@ -3,7 +3,7 @@",
        "@@ -11,7 +11,7 @@",
    ]


@given(BODIES, BODIES)
def test_a_diff_applies(before: str, after: str) -> None:
    assert apply_diff(before, diff(before, after)) == after


@given(BODIES, BODIES)
def test_small_edits_are_the_shortest(before: str, after: str) -> None:
    old, new = before.split("\n"), after.split("\n")
    edits = find_edits(old, new)
    cost = sum(e.end - e.start + e.new_end - e.new_start for e in edits)
    row = list(range(len(new) + 1))
    for i, line in enumerate(old, 1):
        above, row = row, [i]
        for j, other in enumerate(new, 1):
            row.append(above[j - 1] if line == other else 1 + min(above[j], row[j - 1]))
    assert cost == row[-1]


def test_the_diff_limit() -> None:
    body = "a\n" * (DIFF_BYTES_MAX // 2)
    assert "@@ -" in diff(body, "b\n" + body[2:])
    shortened = diff(body, "b\n" + body)
    assert shortened == (
        "--- version 1\n+++ version 2\n"
        "\\ Diff left out: a body is over 262144 bytes. Changed: -0,0 +1\n"
    )
    assert "Diff left out" in diff("é" * (DIFF_BYTES_MAX // 2) + "a", "a")
    assert "Diff left out" not in diff("é" * (DIFF_BYTES_MAX // 2), "a")


@pytest.mark.parametrize("alphabet", ["ab", "abcdefghijklmnopqrst", None])
def test_large_and_unlike_bodies_take_bounded_time(alphabet: str | None) -> None:
    chance = random.Random(4)
    if alphabet is None:
        one = [str(n) for n in range(40_000)]
        other = chance.sample(one, len(one))
    else:
        one, other = (chance.choices(alphabet, k=125_000) for _ in range(2))
    before, after = ("\n".join(lines)[:250_000] for lines in (one, other))
    start = time.process_time()
    patch = diff(before, after)
    assert time.process_time() - start < 5
    assert apply_diff(before, patch) == after


# --- merge ------------------------------------------------------------------------------------

BASE = "1\n2\n3\n4\n5\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ("x\n2\n3\n4\n5\n", "1\n2\n3\n4\ny\n", "x\n2\n3\n4\ny\n"),
        ("x\n2\n3\n4\n5\n", "1\ny\n3\n4\n5\n", "x\ny\n3\n4\n5\n"),
        ("2\n3\n4\n5\n", "1\n2\n3\n4\n", "2\n3\n4\n"),
        ("0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", "0\n1\n2\n3\n4\n5\n6\n"),
        ("1\nx\n3\n4\n5\n", "1\nx\n3\n4\ny\n", "1\nx\n3\n4\ny\n"),
        ("1\nx\n3\n4\n5\n", "1\ny\n3\n4\n5\n", None),
        ("1\nx\n3\n4\n5\n", "1\n3\n4\n5\n", None),
        ("1\n2\nx\n3\n4\n5\n", "1\n2\ny\n3\n4\n5\n", None),
        ("1\n2\nx\n3\n4\n5\n", "1\n2\ny\n4\n5\n", None),
        ("1\n2\nx\n3\n4\n5\n", "1\ny\n3\n4\n5\n", None),
        ("1\n2\nx\n3\n4\n5\n", "1\n2\nx\n3\n4\ny\n", "1\n2\nx\n3\n4\ny\n"),
        ("1\n2\n3\n4\n5", "0\n2\n3\n4\n5\n", "0\n2\n3\n4\n5"),
        ("", "1\n2\n3\n4\nx\n", None),
    ],
)
def test_merge(ours: str, theirs: str, merged: str | None) -> None:
    assert merge_lines(BASE, ours, theirs) == merged
    assert merge_lines(BASE, theirs, ours) == merged


@given(BODIES, BODIES)
def test_one_side_alone_is_taken(base: str, side: str) -> None:
    assert merge_lines(base, base, side) == side
    assert merge_lines(base, side, base) == side
    assert merge_lines(base, side, side) == side


@given(BODIES, BODIES, BODIES)
def test_the_sides_may_be_swapped(base: str, ours: str, theirs: str) -> None:
    assert merge_lines(base, ours, theirs) == merge_lines(base, theirs, ours)


@given(st.lists(st.sampled_from(["keep", "ours", "theirs", "same"]), max_size=12), st.data())
def test_disjoint_edits_keep_both(owners: list[str], data: st.DataObject) -> None:
    """Lines of their own between the edits, so that none touches another."""
    base, ours, theirs, expected = [], [], [], []
    for n, owner in enumerate(owners):
        old = [f"old {n}"] * data.draw(st.integers(0, 2))
        new = [f"{owner} {n}"] * data.draw(st.integers(0, 2))
        base += [*old, f"between {n}"]
        ours += [*(new if owner in ("ours", "same") else old), f"between {n}"]
        theirs += [*(new if owner in ("theirs", "same") else old), f"between {n}"]
        expected += [*(old if owner == "keep" else new), f"between {n}"]
    merged = merge_lines("\n".join(base), "\n".join(ours), "\n".join(theirs))
    assert merged == "\n".join(expected)


def test_the_merge_limit() -> None:
    line = "a" * 99 + "\n"
    base = "1\n" + line * (DIFF_BYTES_MAX // 100 - 1) + "2\n"
    base += "b" * (DIFF_BYTES_MAX - len(base) - 1) + "\n"
    ours, theirs = "x" + base[1:], base[:-2] + "y\n"
    assert len(base) == DIFF_BYTES_MAX
    assert merge_lines(base, ours, theirs) == "x" + theirs[1:]
    assert merge_lines(base + "c", ours, theirs) is None
