from hypothesis import given
from hypothesis import strategies as st

from kbstore.access.addresses import Pattern
from kbstore.access.matching import PatternIndex

segment = st.sampled_from(["$", "a", "b"])
patterns = st.builds(
    lambda rest, child: Pattern(
        ("t", *(f"$p{i}" if s == "$" else s for i, s in enumerate(rest))), child
    ),
    st.lists(segment, min_size=1, max_size=3),
    st.sampled_from(["", "c"]),
)
addresses = st.builds(
    lambda kind, rest, child: ":".join([kind, *rest]) + child,
    st.sampled_from("tu"),
    st.lists(st.sampled_from("abz"), min_size=1, max_size=3),
    st.sampled_from(["", "/c", "/d"]),
)


@given(st.lists(patterns, max_size=12), addresses)
def test_finds_what_trying_each_pattern_finds(declared: list[Pattern], address: str) -> None:
    entries = list(zip(declared, range(len(declared)), strict=True))
    found = PatternIndex(entries).find(address)
    expected = [entry for entry in entries if entry[0].match(address) is not None]
    assert sorted(found, key=lambda entry: entry[1]) == expected


def test_most_specific_first_then_the_further_left() -> None:
    texts = ["t:$x:$y", "t:$x:b", "t:a:$y", "t:a:b"]
    index = PatternIndex((Pattern.parse(text), text) for text in texts)
    assert [text for _, text in index.find("t:a:b")] == ["t:a:b", "t:a:$y", "t:$x:b", "t:$x:$y"]
    assert index.find("t:a") == []
