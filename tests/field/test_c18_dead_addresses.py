"""C18: old addresses died after a move without a word, or led around in circles."""

import pytest

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase


def moved_to(client: Client, path: str) -> object:
    """What the answer on a dead address says."""
    return client.at(f"org:acme#{path}").refused(404, "NOT_FOUND").details.get("movedTo")


@pytest.mark.parametrize("spelling", ["a", "A", "/a", "a/", "//a//"])
def test_the_old_address_says_where_the_page_is(ana: Client, spelling: str) -> None:
    page = ana.made("a")
    ana.move(page.id, 1, key="b")
    assert moved_to(ana, spelling) == "org:acme#b"
    assert ana.page_at("org:acme#b").id == page.id


def test_a_chain_of_moves_is_one_step(ana: Client) -> None:
    page, x = ana.made("k0"), ana.made("x")
    for number in range(1, 6):
        ana.move(page.id, "*", key=f"k{number}")
    ana.move(page.id, "*", parent=x.id)
    for number in range(6):
        assert moved_to(ana, f"k{number}") == "org:acme#x/k5"


def test_there_and_back_is_no_loop(ana: Client) -> None:
    page = ana.made("a")
    for _ in range(3):
        ana.move(page.id, "*", key="b")
        assert moved_to(ana, "a") == "org:acme#b"
        ana.move(page.id, "*", key="a")
        assert moved_to(ana, "b") == "org:acme#a"
    assert ana.page_at("org:acme#a").id == page.id


def test_two_pages_change_places(ana: Client) -> None:
    first, second = ana.made("a"), ana.made("b")
    ana.move(first.id, 1, key="c")
    ana.move(second.id, 1, key="a")
    ana.move(first.id, 2, key="b")
    assert ana.page_at("org:acme#a").id == second.id
    assert ana.page_at("org:acme#b").id == first.id
    assert moved_to(ana, "c") == "org:acme#b"


def test_an_address_that_is_used_again_is_the_new_page(ana: Client) -> None:
    first = ana.made("a")
    ana.move(first.id, 1, key="b")
    second = ana.made("a")
    assert ana.page_at("org:acme#a").id == second.id
    # When the second leaves too, the address speaks of it: it was the last to stand there.
    ana.move(second.id, 1, key="c")
    assert moved_to(ana, "a") == "org:acme#c"


def test_below_a_page_that_moved(ana: Client) -> None:
    a, b, c = ana.chain("a", "b", "c")
    ana.move(a.id, 1, key="z")
    ana.move(c.id, 1, key="y")
    assert moved_to(ana, "a/b") == "org:acme#z/b"
    assert moved_to(ana, "z/b/c") == "org:acme#z/b/y"
    assert ana.page(b.id).path == "z/b"


def test_into_another_scope(ana: Client) -> None:
    page = ana.made("a")
    ana.move(page.id, 1, scope=TEAM)
    assert moved_to(ana, "a") == f"{TEAM}#a"


def test_where_the_reader_cannot_follow_he_is_not_told(asking: Ask, ana: Client) -> None:
    """As on an address where nothing ever stood, but for the address itself."""
    both = asking("user:vic", SCOPE, VAULT)
    page = ana.made("a")
    both.move(page.id, 1, scope=VAULT)
    dead = ana.at("org:acme#a").refused(404, "NOT_FOUND")
    never = ana.at("org:acme#n").refused(404, "NOT_FOUND")
    assert dead.details == never.details == {}
    assert dead.message.replace("#a", "#n") == never.message
    assert both.at("org:acme#a").refused(404, "NOT_FOUND").details["movedTo"] == f"{VAULT}#a"


def test_a_deleted_page_has_moved_nowhere(ana: Client) -> None:
    page = ana.made("a")
    ana.move(page.id, 1, key="b")
    ana.delete(page.id, 2)
    assert moved_to(ana, "a") is None
    assert moved_to(ana, "b") is None
    ana.restore(page.id, 3)
    assert moved_to(ana, "a") == "org:acme#b"


def test_a_merged_page_leads_to_what_took_it_over(kb: KnowledgeBase, ana: Client) -> None:
    p, q, r = (ana.made(key) for key in "pqr")
    before = kb.revision
    for page, into in ((p, q), (q, r)):
        ana.merge(page.id, into.id)
        # A chain of merges is one step.
        for answer in (ana.at("org:acme#p"), ana.ask("GET", f"/pages/{p.id}")):
            assert answer.refused(404, "NOT_FOUND").details["mergedInto"] == into.id
    # Whoever reads the past finds the page where it was.
    assert ana.page_at("org:acme#p", revision=before).id == p.id


def test_a_dead_address_writes_nothing(kb: KnowledgeBase, ana: Client) -> None:
    page = ana.made("a")
    ana.move(page.id, 1, key="b")
    with kb.nothing_written():
        moved_to(ana, "a")
