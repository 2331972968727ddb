"""What was shown or allowed beyond the caller's rights, or withheld within them."""

import msgspec
import pytest

from kbstore.limits import PAGES_PER_OPERATION_MAX
from tests.asking import Answer, Ask, Client
from tests.knowledge import CONFIGURATION, SCOPE, TEAM, VAULT, KnowledgeBase

SECRET = """
[scopes."secret:$org"]
access = []
description = "Nobody is to know"
"""


def ids_of(part: dict[str, object]) -> set[str]:
    items = msgspec.convert(part["items"], list[dict[str, object]])
    return {str(item["pageId"]) for item in items}


# --- replays ------------------------------------------------------------------------------------


def test_the_configuration_is_not_told_again_to_a_key_without_the_grant(
    kb: KnowledgeBase, asking: Ask
) -> None:
    admin = asking("user:ann", grants=("admin",))
    plain = asking("user:ann")
    toml = {"content-type": "application/toml", "if-match": "*"}

    def put(client: Client, key: str = "once") -> Answer:
        return client.ask("PUT", "/configuration", CONFIGURATION.encode(), headers=toml, key=key)

    assert put(admin).written.changed is False
    kb.configure(CONFIGURATION + SECRET)
    for key in ("once", "another"):
        put(plain, key).refused(403, "GRANT_MISSING")
    again = put(admin)
    assert again.headers["idempotency-replayed"] == "true"
    assert b"Nobody is to know" in again.raw


def test_a_replay_names_no_key_that_a_child_had_where_it_is_hidden_by_now(
    kb: KnowledgeBase, asking: Ask
) -> None:
    both = asking("user:ana", SCOPE, VAULT)
    less = asking("user:ana", SCOPE)
    into, page = both.made("into"), both.made("page", scope=VAULT)
    both.made("faq", parent=into.id)
    both.made("faq", scope=VAULT, parent=page.id)

    def merge(client: Client) -> dict[str, object]:
        body = {"into": into.id, "onKeyCollision": "rename"}
        return client.ask("POST", f"/pages/{page.id}/merge", body, match="*", key="once").json

    (renamed,) = msgspec.convert(merge(both)["renamed"], list[dict[str, str]])
    assert (renamed["before"], renamed["after"]) == ("faq", "faq-2")
    assert "renamed" not in merge(less)
    assert merge(both)["renamed"] == [renamed]


# --- merges -------------------------------------------------------------------------------------


def test_notes_that_are_hidden_do_not_keep_a_page_from_being_merged(
    ana: Client, asking: Ask
) -> None:
    both = asking("user:both", SCOPE, VAULT)
    page, into = ana.made("page").id, ana.made("into").id
    note = {"op": "addNote", "page": page, "text": "Hidden", "scope": [VAULT]}
    for _ in range(2):
        assert both.commit(*[note] * (PAGES_PER_OPERATION_MAX // 2 + 1)).status == 201
    assert ana.part(f"/pages/{page}/notes").items == []
    assert ana.merge(page, into).status == 200
    assert len(both.items(f"/pages/{into}/notes", msgspec.Raw)) == PAGES_PER_OPERATION_MAX + 2


# --- restores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [{}, {"version": 1}, {"deletion": 0}], ids=str)
def test_a_deletion_is_no_way_around_the_rule_for_moves_across_scopes(
    kb: KnowledgeBase, asking: Ask, source: dict[str, int]
) -> None:
    owner = asking("user:ana", SCOPE)
    editor = asking("user:eve", VAULT, TEAM)
    target = owner.made("there", scope=TEAM)
    page = editor.made("page", scope=VAULT)
    place = {"scope": TEAM, "parent": target.id}
    assert editor.move(page.id, **place).refused(403, "ROLE_TOO_WEAK").details["needed"] == "owner"
    deletion = editor.delete(page.id, 1).revision
    if "deletion" in source:
        source = {"deletion": deletion}
    with kb.nothing_written():
        refusal = editor.restore(page.id, parent=target.id, **source)
    assert refusal.refused(403, "ROLE_TOO_WEAK").details == {
        "scope": TEAM,
        "needed": "owner",
        "actual": "editor",
    }
    both = asking("user:both", SCOPE, VAULT)
    restored = both.restore(page.id, parent=target.id, **source).page
    assert restored.ref == f"{TEAM}#there/page"


def test_a_parent_that_has_gone_to_another_scope_takes_the_page_there_for_its_owner(
    kb: KnowledgeBase, asking: Ask
) -> None:
    both, less = asking("user:both", SCOPE, VAULT), asking("user:less", VAULT, "editor:acme")
    parent = both.made("parent", scope=VAULT)
    page = both.made("page", scope=VAULT, parent=parent.id)
    both.delete(page.id, 1)
    both.move(parent.id, scope=SCOPE)
    assert less.restore(page.id).refused(403, "ROLE_TOO_WEAK").details["scope"] == SCOPE
    assert both.restore(page.id).page.ref == "org:acme#parent/page"


def test_an_owner_who_is_auditor_too_restores_what_he_owns_of_a_deletion(
    kb: KnowledgeBase, asking: Ask
) -> None:
    both = asking("user:both", SCOPE, VAULT)
    auditing = asking("user:ann", SCOPE, grants=("auditor",))
    one, two = both.made("one"), both.made("two", scope=VAULT)
    deletion = both.commit(
        *[{"op": "delete", "page": page.id, "expectedVersion": 1} for page in (one, two)]
    ).json["revision"]
    assert auditing.restore(two.id, deletion=deletion).status == 403
    assert auditing.restore(one.id, deletion=deletion).page.id == one.id
    assert ids_of(both.ask("GET", "/deletions").json) == {two.id}
