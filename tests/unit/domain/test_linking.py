"""Binding links to pages."""

import pytest

from kbstore.domain.commands import DeletePage, EditPage, MergePage
from kbstore.domain.events import PageCreated, PageEdited
from kbstore.domain.linking import bind
from kbstore.ids import declared_page_id
from kbstore.testing import HELD, KB, SCOPE, Story, body, given, nth_id, page

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
TEAM = "team:acme:support"
VAULT = "vault:acme"


def library() -> Story:
    """a/b, a/c, a/b/d, x y, a keyless page with a child below, and pages of other scopes."""
    return given(
        page("Alpha", key="a"),
        page("Beta", key="b", parent="$0"),
        page("Gamma", key="c", parent="$0"),
        page("Delta", key="d", parent="$1"),
        page("Space", key="x y"),
        page("Keyless"),
        page("Below", key="e", parent="$5"),
        page("Twice", key="t1"),
        page("Twice", key="t2"),
        page("Secret", key="s", scope=VAULT),
        page("Runbook", key="run", scope=TEAM),
        page("C# guide", key="cs"),
        page("Gone", key="gone"),
        DeletePage(page="$12"),
        page("org:acme", key="odd", scope=TEAM),
    )


def leads_to(link: str, source: str = "$1", held: tuple[str, ...] = HELD) -> str | None:
    """The place of the page a link leads to, written on the page `source`."""
    story = library()
    source_id = SCOPE_PAGE if source == "top" else source
    (edited,) = story.when(EditPage(page=source_id, body=body(link)), held=held).events
    assert isinstance(edited, PageEdited)
    assert edited.links is not None, "the text holds a link"
    if not edited.links.bound:
        return None
    ((index, page_id),) = edited.links.bound
    assert index == 0
    if page_id == SCOPE_PAGE:
        return "top"
    (place,) = (n for n in range(15) if story.id(n) == page_id)
    return f"${place}"


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("[[Gamma]]", "$2"),
        ("[[Gamma|the third]]", "$2"),
        ("[[gamma]]", None),
        ("[[Twice]]", None),
        ("[[Nobody]]", None),
        ("[[Gone]]", None),
        ("[[org:acme#a/b/d]]", "$3"),
        ("[[org:acme#A/B]]", "$1"),
        ("[[org:acme#/a//b/]]", "$1"),
        ("[[org:acme#a/nothing]]", None),
        ("[[org:acme#gone]]", None),
        ("[[org:acme#policies]]", None),
        ("[[org:acme]]", "top"),
        ("[[org:acme#]]", "top"),
        ("[[team:acme:support#run]]", "$10"),
        ("[[C# guide]]", "$11"),
        (f"[[{nth_id(999)}]]", None),
        ("[[vault:acme#s]]", "$9"),
        ("[[Secret]]", "$9"),
    ],
)
def test_wiki_links(link: str, place: str | None) -> None:
    assert leads_to(link) == place


@pytest.mark.parametrize("link", ["[[vault:acme#s]]", "[[Secret]]", "[[vault:acme]]"])
def test_what_the_writer_cannot_read_stays_unbound(link: str) -> None:
    assert leads_to(link, held=(SCOPE,)) is None


@pytest.mark.parametrize(
    ("source", "link", "place"),
    [
        ("$1", "[x](c.md)", "$2"),
        ("$1", "[x](c)", "$2"),
        ("$1", "[x](./c.md)", "$2"),
        ("$1", "[x](C.md#part)", "$2"),
        ("$1", "[x](c.md?raw=1)", "$2"),
        ("$1", "[x](b/d.md)", "$3"),
        ("$1", "[x](../a.md)", "$0"),
        ("$1", "[x](../x%20y.md)", "$4"),
        ("$1", "[x](<../x y.md>)", "$4"),
        ("$1", "[x](d.md)", None),
        ("$1", "[x](c.txt)", None),
        ("$1", "[x](c.md.md)", None),
        ("$1", "[x](../../a.md)", None),
        ("$1", "[x](/a.md)", None),
        ("$1", "[x](b/../c.md)", None),
        ("$1", "[x](../gone.md)", None),
        ("$1", "[x](" + "../" * 50 + "a.md)", None),
        ("$1", "[x](" + "a/" * 50 + "a.md)", None),
        ("$3", "[x](../../a/c.md)", "$2"),
        ("$0", "[x](a/c.md)", "$2"),
        ("top", "[x](a/c.md)", "$2"),
        ("$6", "[x](../a/c.md)", "$2"),
        ("$1", "[x](..)", "top"),
    ],
)
def test_relative_links_start_at_the_page_above(source: str, link: str, place: str) -> None:
    assert leads_to(link, source) == place


def test_ids_are_links_too() -> None:
    story = library()
    for written in (f"[[{story.id(2)}]]", f"[x]({story.id(2)})"):
        (edited,) = story.when(EditPage(page="$1", body=body(written))).events
        assert isinstance(edited, PageEdited)
        assert edited.links is not None
        assert edited.links.bound == ((0, story.id(2)),)
    secret = f"[[{story.id(9)}]]"
    (edited,) = story.when(EditPage(page="$1", body=body(secret)), held=[SCOPE]).events
    assert isinstance(edited, PageEdited)
    assert edited.links is not None
    assert edited.links.bound == ()


def test_a_hidden_page_does_not_stand_before_a_readable_one_of_that_name() -> None:
    story = library().after(page("vault:acme#s"))
    edit = EditPage(page="$1", body=body("[[vault:acme#s]]"))
    for held, place in (((SCOPE,), 15), (HELD, 9)):
        (edited,) = story.when(edit, held=held).events
        assert isinstance(edited, PageEdited)
        assert edited.links is not None
        assert edited.links.bound == ((0, story.id(place)),)


def test_a_merged_page_is_no_target() -> None:
    story = library().after(MergePage(page="$2", into="$4"))
    (edited,) = story.when(EditPage(page="$1", body=body(f"[[{story.id(2)}]]"))).events
    assert isinstance(edited, PageEdited)
    assert edited.links is not None
    assert edited.links.bound == ()


def test_a_new_page_links_from_where_it_comes_to_stand() -> None:
    story = library()
    outcome = story.when(page("New", parent="$0", content="[x](c.md) [y](nope.md) [[Alpha]]"))
    (created,) = outcome.events
    assert isinstance(created, PageCreated)
    assert created.links is not None
    assert created.links.bound == ((0, story.id(2)), (2, story.id(0)))
    targets = [prepared for prepared in outcome.decision.texts if prepared.links == ()][-1]
    assert created.links.targets == targets.ref
    assert '"nope.md"' in targets.value


def test_a_text_without_links_binds_none() -> None:
    story = library()
    context = story.context()
    for plain in (None, body("plain"), body("plain").text):
        assert bind(plain, context.access, context.lookup, lambda: None) is None


def test_relative_links_without_a_folder_stay_unbound() -> None:
    context = library().context()
    links = bind(body("[x](c.md)"), context.access, context.lookup, lambda: None)
    assert links is not None
    assert links.bound == ()
