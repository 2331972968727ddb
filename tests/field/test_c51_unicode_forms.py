"""C51: one visible name in two Unicode forms made two records, or was "not found"."""

import unicodedata

import pytest

from tests.asking import Client
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, KnowledgeBase

FORMS = {
    "accent": ("café", "cafe\u0301"),
    "two accents": ("ệ", "e\u0323\u0302"),
    "accents in another order": ("ệ", "e\u0302\u0323"),
    "half composed": ("ệ", "ẹ\u0302"),
    "angstrom sign": ("Å", "\u212b"),
    "ohm sign": ("Ω", "\u2126"),
    "hangul": ("한글", unicodedata.normalize("NFD", "한글")),
    "kana": ("ガイド", unicodedata.normalize("NFD", "ガイド")),
    "devanagari": ("क\u093c", "\u0958"),
    "compatibility ideograph": ("豈", "\uf900"),
    "vietnamese": ("tiếng việt", unicodedata.normalize("NFD", "tiếng việt")),
}
"""A name in NFC and in another form that shows the same."""


@pytest.mark.parametrize("name", FORMS)
def test_a_key_is_found_in_every_form_and_taken_in_every_form(
    kb: KnowledgeBase, ana: Client, name: str
) -> None:
    composed, other = FORMS[name]
    assert composed != other
    for number, (first, second) in enumerate(((composed, other), (other, composed))):
        page = ana.made(f"{first}{number}")
        assert page.key == f"{composed}{number}", "stored as NFC"
        for spelling in (first, second):
            assert ana.page_at(f"org:acme#{spelling}{number}").id == page.id
        with kb.nothing_written():
            refusal = ana.create(f"{second}{number}").refused(409, "KEY_TAKEN")
        assert refusal.details["pageId"] == page.id
    kb.check_tree()


@both_doors
@pytest.mark.parametrize("name", FORMS)
def test_moving_merging_and_restoring_see_one_key(
    kb: KnowledgeBase, ana: Client, name: str, door: Door
) -> None:
    composed, other = FORMS[name]
    holder, parent = ana.made(composed), ana.made("parent")
    moving, child = ana.made("moving"), ana.made(other, parent=parent.id)
    gone = ana.made("gone")
    ana.delete(gone.id, 1)
    for op, page, fields in (
        ("move", moving.id, {"key": other}),
        ("move", child.id, {"parent": None}),
        ("restore", gone.id, {"key": other}),
    ):
        with kb.nothing_written():
            refusal = door(ana, op, page, "*", fields).refused(409, "KEY_TAKEN")
        assert refusal.details["pageId"] == holder.id
    into = ana.made("into")
    ana.made(composed, parent=into.id)
    with kb.nothing_written():
        door(ana, "merge", parent.id, 1, {"into": into.id}).refused(409, "KEY_TAKEN")
    # Its own key in another form is no change.
    with kb.nothing_written():
        assert door(ana, "move", holder.id, 1, {"key": other}).json["changed"] is False


@pytest.mark.parametrize("name", FORMS)
def test_names_are_one_form_and_bodies_as_sent(kb: KnowledgeBase, ana: Client, name: str) -> None:
    composed, other = FORMS[name]
    page = ana.made("p", name=other, description=other, body=f"# {other}\n")
    assert page.name == composed
    assert page.body == f"# {other}\n"
    with kb.nothing_written():
        assert ana.edit(page.id, 1, name=composed).written.changed is False
    assert ana.edit(page.id, 1, body=f"# {composed}\n").page.version == 2


@pytest.mark.parametrize("name", FORMS)
def test_links_and_old_addresses_in_either_form(ana: Client, name: str) -> None:
    composed, other = FORMS[name]
    page = ana.made(composed)
    source = ana.made("source", body=f"See [[org:acme#{other}]].\n")
    assert source.id in bytes(ana.part(f"/pages/{page.id}/backlinks").items[0]).decode()
    ana.move(page.id, 1, key="moved")
    for spelling in (composed, other):
        refusal = ana.at(f"org:acme#{spelling}").refused(404, "NOT_FOUND")
        assert refusal.details["movedTo"] == "org:acme#moved"


DIFFERENT = [
    ("cafe", "café"),
    ("e\u0301", "e\u0300"),
    ("x²", "x2"),
    ("①", "1"),
    ("ｆａｑ", "faq"),
    ("a\u200db", "ab"),
    ("a b", "a\u00a0b"),
]
"""What looks alike to some and is not the same: only NFC and case are folded in keys."""


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_different_stays_different(
    kb: KnowledgeBase, ana: Client, one: str, other: str
) -> None:
    first, second = ana.made(one), ana.made(other)
    assert first.id != second.id
    assert ana.page_at(f"org:acme#{one}").id == first.id
    assert ana.page_at(f"org:acme#{other}").id == second.id
    kb.check_tree()


CASES = [("FAQ", "faq"), ("Straße", "STRASSE"), ("ΣΑΣ", "σας"), ("ǅ", "ǆ"), ("ﬁ", "FI")]


@pytest.mark.parametrize(("one", "other"), CASES)
def test_case_makes_no_second_key_and_the_first_spelling_stays(
    kb: KnowledgeBase, ana: Client, one: str, other: str
) -> None:
    page = ana.made(one)
    with kb.nothing_written():
        ana.create(other).refused(409, "KEY_TAKEN")
    assert ana.page_at(f"org:acme#{other}").key == one
    assert ana.move(page.id, 1, key=other).page.key == other


def test_the_limit_of_a_key_counts_it_as_stored(ana: Client) -> None:
    """100 characters in NFC, however many code points they came as."""
    decomposed = "e\u0301" * 100
    assert ana.made(decomposed).key == "é" * 100
    ana.create("e\u0301" * 101).refused(422, "VALIDATION_ERROR")


def test_in_a_commit(kb: KnowledgeBase, ana: Client) -> None:
    composed, other = FORMS["accent"]
    creates = [
        {"op": "create", "scope": SCOPE, "name": "Café", "key": key} for key in (composed, other)
    ]
    with kb.nothing_written():
        ana.commit(*creates).refused(409, "KEY_TAKEN")
