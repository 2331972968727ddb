"""The bounds and orders of what deciding asks; the answers as such are tested at random."""

from uuid import UUID, uuid4

from projections import transaction_lookup
from tests.unit.projections.history import History


def test_what_was_never_written_is_nowhere(history: History) -> None:
    lookup, unknown = history.lookup(), uuid4()
    assert lookup.page(unknown) is None
    assert lookup.scope_page("org:acme") is None
    assert lookup.child_by_key(unknown, "faq") is None
    assert lookup.children(unknown, 9) == []
    assert lookup.ancestors(unknown) == []
    assert lookup.subtree(unknown, 9) == []
    assert lookup.page_at_version(unknown, 1) is None
    assert lookup.page_at_revision(unknown, 1) is None
    assert lookup.ended_at(unknown) is None
    assert lookup.deleted_by(1, 9) == []
    assert lookup.declared_pages_gone("org:acme", ()) == 0
    assert lookup.note(unknown) is None
    assert lookup.notes(unknown, 9) == []
    assert lookup.pin(unknown) is None
    assert lookup.pages_named("Page", {"org:acme"}, 9) == []
    assert lookup.scope_addresses() == frozenset()


def test_children_come_oldest_first_up_to_the_limit(history: History) -> None:
    top = history.create()
    children = [history.create(parent=top, name=name) for name in "CAB"]
    lookup = history.lookup()
    assert [page.page_id for page in lookup.children(top, 9)] == children
    assert [page.page_id for page in lookup.children(top, 2)] == children[:2]


def test_a_subtree_comes_level_by_level_up_to_the_limit(history: History) -> None:
    top = history.create()
    a, b = history.create(parent=top), history.create(parent=top)
    under_a = [history.create(parent=a) for _ in range(3)]
    under_b = history.create(parent=b)
    expected = [top, a, b, *under_a, under_b]
    lookup = history.lookup()
    assert [page.page_id for page in lookup.subtree(top, 99)] == expected
    for limit in range(1, 8):
        assert [page.page_id for page in lookup.subtree(top, limit)] == expected[:limit]
    assert (lookup.subtree_levels(top), lookup.subtree_levels(under_b)) == (3, 1)


def test_the_deepest_tree_is_walked_whole(history: History) -> None:
    chain = [history.create()]
    for _ in range(10):
        chain.append(history.create(parent=chain[-1]))
    lookup = history.lookup()
    assert [page.page_id for page in lookup.ancestors(chain[-1])] == chain[-2::-1]
    assert [page.page_id for page in lookup.subtree(chain[0], 99)] == chain
    assert lookup.subtree_levels(chain[0]) == 11
    team = history.create(scope="team:acme:support")
    history.move(chain[1], team)
    assert {p.scope for p in history.lookup().subtree(chain[1], 99)} == {"team:acme:support"}


def test_names_are_compared_exactly_within_the_scopes_asked_for(history: History) -> None:
    org, team = history.create(), history.create(scope="team:acme:support")
    pages: dict[str, UUID] = {
        name: history.create(parent=org, name=name) for name in ("Refunds", "refunds", "Réfunds")
    }
    other = history.create(scope="team:acme:support", parent=team, name="Refunds")
    gone = history.create(parent=org, name="Refunds")
    history.delete(gone)
    lookup = history.lookup()
    both = {"org:acme", "team:acme:support"}

    def named(scopes: set[str], limit: int = 9) -> list[UUID]:
        return [page.page_id for page in lookup.pages_named("Refunds", scopes, limit)]

    assert named({"org:acme"}) == [pages["Refunds"]]
    assert named(both) == sorted([pages["Refunds"], other])
    assert named(both, 1) == named(both)[:1]
    assert named(set()) == []


def test_a_declared_page_is_gone_once_it_stands_elsewhere(history: History) -> None:
    top = history.create(template="")
    faq = history.create(parent=top, key="faq", template="faq")
    deep = history.create(parent=faq, key="Deep", template="faq/deep")

    def gone() -> tuple[int, int, int]:
        lookup = history.lookup()
        paths = ((), ("faq",), ("FAQ".lower(), "deep"))
        first, second, third = (lookup.declared_pages_gone("org:acme", path) for path in paths)
        return first, second, third

    assert gone() == (0, 0, 0)
    history.move(faq, top, "questions")
    assert gone() == (0, 1, 1)
    history.move(faq, top, "FAQ")
    assert gone() == (0, 0, 0)
    history.delete(deep)
    assert gone() == (0, 0, 1)
    team = history.create(scope="team:acme:support", template="")
    history.move(faq, team, "faq")
    assert gone() == (0, 1, 1)
    assert history.lookup().declared_pages_gone("team:acme:support", ("faq",)) == 0


def test_a_version_stood_in_each_scope_the_page_followed_another_to(history: History) -> None:
    org, team = history.create(), history.create(scope="team:acme:support")
    parent = history.create(parent=org)
    child = history.create(parent=parent)
    history.move(parent, team)
    history.edit(child)
    history.move(parent, org)
    history.delete(child)
    lookup = history.lookup()
    both = {"org:acme", "team:acme:support"}
    assert [lookup.scopes_of_version(child, version) for version in (1, 2)] == [both, both]
    assert lookup.scopes_of_version(child, 3) == frozenset(), "the end of a page stands nowhere"
    assert lookup.scopes_of_version(uuid4(), 1) == frozenset()


def test_versions_that_ended_a_page_tell_so(history: History) -> None:
    top = history.create()
    page, into = history.create(parent=top), history.create(parent=top)
    history.delete(page)
    history.restore(page, top)
    history.merge_away(page, into)
    lookup = history.lookup()
    ended = [lookup.page_at_version(page, version) for version in range(1, 6)]
    assert [state.ended if state else "none" for state in ended] == [
        None,
        "deleted",
        None,
        "merged",
        "none",
    ]
    merged = ended[3]
    assert merged is not None
    assert merged.merged_into == into


def test_texts_are_read_and_compared(history: History) -> None:
    page = history.create(name="Refunds", body="Thirty days.")
    body = history.page(page).body
    assert body is not None
    lookup = history.lookup()
    assert lookup.text(body.text) == "Thirty days."
    assert lookup.same_text(body.text, "Thirty days.")
    assert not lookup.same_text(body.text, "Thirty days")


def test_every_question_of_the_protocol_is_answered() -> None:
    from kbstore.domain.lookup import Lookup

    questions = {name for name in vars(Lookup) if not name.startswith("_")}
    assert questions <= set(vars(transaction_lookup.TransactionLookup))
