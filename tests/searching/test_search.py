"""Single rules of searching, each by an example."""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest

from kbstore.access import Caller
from kbstore.domain.commands import RestampNote
from kbstore.errors import SearchTimeoutError, ValidationError
from kbstore.limits import SEARCH_SECONDS_MAX, SEARCH_WORDS_MAX
from projections.lexical.kept import forget_indexes
from projections.projector import Projections
from projections.read import search as module
from projections.read.search import Found, NoteHit, PageHit, search
from projections.rebuild import rebuild
from projections.verify import verify
from tests.unit.projections.read.world import ANA, AUDITOR, ORG, RED, ROOT, VAULT, World

LIMIT = 50
STRANGE_QUERIES = (
    *("ask-codex", "2026-03-14", "memory:safe", 'say "hi', "(py", "foo AND", "C++", "*", "NEAR("),
    *("", " ", '"', "x" * 10_240, "\\", "'; --", "%", "\x00", "\U0001f642", "\u0301", "\u200b"),
)


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    forget_indexes()
    with closing(World(database_url)) as world:
        yield world
    forget_indexes()


def found(
    world: World,
    query: str,
    caller: Caller = ANA,
    revision: int | None = None,
    scopes: frozenset[str] | None = None,
    limit: int = LIMIT,
) -> Found:
    with world.reading(caller, revision) as snapshot:
        return search(snapshot, query, scopes, limit)


def names(result: Found) -> list[str]:
    return [hit.page.name for hit in result.hits if isinstance(hit, PageHit)]


def named(world: World, query: str, caller: Caller = ANA, revision: int | None = None) -> list[str]:
    return names(found(world, query, caller, revision))


# --- what a word finds ----------------------------------------------------------------------------


@pytest.mark.parametrize("query", STRANGE_QUERIES)
def test_any_text_is_a_query(world: World, query: str) -> None:
    world.create("Other", body="nothing of it")
    page = world.create("Page", body=f"It says {query or 'nothing'} here".replace("\x00", ""))
    result = found(world, query)
    if query.strip('" \x00\u0301'):
        assert page in [hit.page.page_id for hit in result.hits if isinstance(hit, PageHit)]


def test_what_no_text_can_hold_is_not_found(world: World) -> None:
    world.create("Page", body="zebra")
    assert found(world, "\ud800 zebra\ud800 \x00").total == 0


@pytest.mark.parametrize(
    ("body", "queries"),
    [
        ("big-house «Rust» CCU-Historian os.path.join", ["house", "Rust", "historian", "path"]),
        ("本文是关于教务使用的一篇小教程", ["一篇", "一", "教务", "小教程"]),
        ("with a MySQL数据库 inside", ["mysql", "数据库", "数", "l数"]),
        ("Straße ﬁne İstanbul", ["STRASSE", "fine", "istanbul", "aß"]),
        ("e.g. --help ()", ["e.g", "--help", "()", ".g"]),
    ],
)
def test_a_word_is_found_inside_of_words(world: World, body: str, queries: list[str]) -> None:
    world.create("Found", body=body)
    world.create("Other", body="zzz")
    assert {query: named(world, query) for query in queries} == {
        query: ["Found"] for query in queries
    }


def test_no_word_reaches_over_white_space(world: World) -> None:
    world.create("Found", body="back up\nside")
    assert [named(world, query) for query in ("backup", "upside", "kup")] == [[], [], []]


def test_an_edit_is_found_by_its_new_text_alone(world: World) -> None:
    page = world.create("Page", body="before zebra")
    old = world.revision
    world.edit(page, body="after zebra")
    assert (named(world, "before"), named(world, "after")) == ([], ["Page"])
    assert (named(world, "before", revision=old), named(world, "zebra")) == (["Page"], ["Page"])
    world.edit(page, name="Renamed")
    assert (named(world, "renamed"), named(world, "after")) == (["Renamed"], ["Renamed"])


def test_what_is_deleted_is_not_found_and_takes_no_place(world: World) -> None:
    page, kept = world.create("Gone ghost"), world.create("Kept ghost")
    alive = world.revision
    world.delete(page)
    result = found(world, "ghost", limit=1)
    assert [hit.page.page_id for hit in result.hits] == [kept]
    assert result.total == 1
    # Its owner still finds it where it was.
    assert len(named(world, "ghost", ANA, alive)) == 2
    assert named(world, "ghost", Caller(principal="user:none"), alive) == []
    world.restore(page)
    assert len(named(world, "ghost")) == 2


# --- the order ------------------------------------------------------------------------------------


def test_names_with_the_whole_query_come_first_then_words_then_where(world: World) -> None:
    world.create("Body", body="late fee policy late fee")
    world.create("Two in name: late policy", body="-")
    world.create("One in name: late", body="policy")
    world.create("The late fee policy")
    world.create("late policy fee", body="-")
    expected = [
        "The late fee policy",
        "late policy fee",
        "Body",
        "Two in name: late policy",
        "One in name: late",
    ]
    assert named(world, "Late  fee policy") == expected
    # The newest comes first among equals.
    world.create("Another body", body="policy fee late")
    assert named(world, "fee late policy")[:4] == [
        "late policy fee",
        "The late fee policy",
        "Another body",
        "Body",
    ]


def test_a_repeated_word_counts_once_but_is_part_of_the_whole_query(world: World) -> None:
    world.create("t t")
    world.create("t", body="-")
    assert named(world, "t t")[0] == "t t"


def test_notes_come_after_pages_by_words_and_then_newest(world: World) -> None:
    page = world.create("Page", body="fee")
    texts = ("fee", "late fee", "fee again", "nothing")
    notes = [world.note(page, text, ORG) for text in texts]
    world.run(RestampNote(note=notes[0], stamps=(ORG, VAULT)))
    result = found(world, "late fee")
    assert isinstance(result.hits[0], PageHit)
    ids = [hit.note_id for hit in result.hits if isinstance(hit, NoteHit)]
    assert ids == [notes[1], notes[2], notes[0]], "a change of stamps makes no note newer"
    assert (result.total, found(world, "late fee", limit=2).total) == (4, 4)
    assert len(found(world, "late fee", limit=2).hits) == 2


# --- scopes and readers ---------------------------------------------------------------------------


def test_a_page_has_to_be_readable_then_and_now(world: World) -> None:
    page = world.create("Secret zebra", scope=VAULT)
    hidden = world.revision
    world.move(page, scope=ORG)
    assert named(world, "zebra") == ["Secret zebra"]
    assert named(world, "zebra", revision=hidden) == []
    assert named(world, "zebra", AUDITOR, hidden) == ["Secret zebra"]
    shown = world.revision
    world.move(page, scope=VAULT)
    assert (named(world, "zebra"), named(world, "zebra", revision=shown)) == ([], [])


def test_pages_below_follow_into_another_scope(world: World) -> None:
    page = world.create("Above")
    below = world.create("Below zebra", parent=page)
    world.move(page, scope=VAULT)
    assert named(world, "zebra") == []
    result = found(world, "zebra", ROOT)
    assert [hit.page.page_id for hit in result.hits] == [below]
    assert names(found(world, "zebra", ROOT, scopes=frozenset({ORG}))) == []


def test_scopes_narrow_pages_and_the_notes_on_them(world: World) -> None:
    one, two = world.create("zebra one"), world.create("zebra two", scope=RED)
    world.note(one, "zebra", ORG)
    world.note(two, "zebra", ORG)
    result = found(world, "zebra", ROOT, scopes=frozenset({RED}))
    assert [hit.page.page_id for hit in result.hits] == [two, two]
    assert found(world, "zebra", ROOT, scopes=frozenset()).total == 0


def test_declared_pages_are_found_as_configured_at_the_revision(world: World) -> None:
    assert named(world, "pay") == ["Refunds"]
    assert named(world, "handbook") == ["Handbook of acme"]
    world.create("Written", body="zebra")
    before = world.revision
    world.configure({"scopes": {"org:$org": {"access": [{"principal": "self", "role": "owner"}]}}})
    assert (named(world, "pay"), named(world, "handbook")) == ([], [])
    assert named(world, "pay", revision=before) == ["Refunds"]
    # The scope page was written with the first page in it; its name then was the configured one.
    result = found(world, "handbook", revision=before)
    assert len(result.hits) == result.total == 1


def test_an_unlisted_scope_is_searched_where_it_is_named(world: World) -> None:
    blue = "team:acme:blue"
    assert names(found(world, "blue")) == []
    assert names(found(world, "blue", scopes=frozenset({blue}))) == [blue]


# --- limits, and what is left of a store ----------------------------------------------------------


def test_a_query_has_so_many_different_words_at_most(world: World) -> None:
    words = [f"w{number}" for number in range(SEARCH_WORDS_MAX)]
    world.create("Page", body=" ".join(words))
    assert named(world, " ".join([*words, *words])) == ["Page"]
    with pytest.raises(ValidationError) as refused:
        found(world, " ".join([*words, "more"]))
    assert refused.value.details == {
        "field": "query",
        "reason": "tooMany",
        "limit": SEARCH_WORDS_MAX,
    }


def test_a_search_ends_at_its_deadline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create("zebra")
    assert SEARCH_SECONDS_MAX > 1
    monkeypatch.setattr(module, "SEARCH_SECONDS_MAX", 0.0)
    with pytest.raises(SearchTimeoutError):
        found(world, "zebra")


def test_a_rebuilt_index_answers_as_the_live_one_and_verifies(world: World) -> None:
    pages = [world.create(f"zebra {number}", body="x " * number) for number in range(6)]
    world.delete(pages[0])
    world.edit(pages[1], body="other")
    world.note(pages[2], "zebra", ORG)
    queries = ("zebra", "x", "other", "zebra 3")
    before = [ids(found(world, query)) for query in queries]
    assert verify(world.database, world.kb_id, Projections()).failures == ()
    rebuild(world.database, world.kb_id, Projections())
    assert [ids(found(world, query)) for query in queries] == before
    assert verify(world.database, world.kb_id, Projections()).failures == ()


def ids(result: Found) -> list[UUID]:
    return [hit.note_id if isinstance(hit, NoteHit) else hit.page.page_id for hit in result.hits]
