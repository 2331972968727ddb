"""C7: a job read, thought for a minute, then wrote its stale result over newer entries."""

from msgspec import Struct, convert

from tests.asking import Ask, Client
from tests.knowledge import VAULT, KnowledgeBase


class Moved(Struct, rename="camel"):
    page_id: str
    ref: str | None
    revision: int


def edits(pages: list[str], version: int | str = "any") -> list[dict[str, object]]:
    return [
        {"op": "edit", "page": page, "expectedVersion": version, "body": "consolidated\n"}
        for page in pages
    ]


def moved_in(details: dict[str, object]) -> dict[str, Moved]:
    return {moved.page_id: moved for moved in convert(details["pages"], list[Moved])}


def test_the_refusal_lists_every_page_that_moved_on(
    kb: KnowledgeBase, ana: Client, ben: Client
) -> None:
    names = ("edited", "renamed", "moved", "deleted", "merged", "into", "still", "untouched")
    pages = {name: ana.made(name) for name in names}
    child = ana.made("child", parent=pages["still"].id)
    read = kb.revision
    ben.edit(pages["edited"].id, 1, body="newer\n")
    ben.edit(pages["edited"].id, 2, body="newest\n")
    ben.edit(pages["renamed"].id, 1, name="Another name")
    ben.move(pages["moved"].id, 1, parent=pages["untouched"].id)
    ben.delete(pages["deleted"].id, 1)
    ben.merge(pages["merged"].id, pages["into"].id, 1)
    created = ben.made("created")
    with kb.nothing_written():
        details = (
            ana.commit(*edits([page.id for page in pages.values()]), expectedRevision=read)
            .refused(409, "REVISION_CONFLICT")
            .details
        )
    assert (details["expectedRevision"], details["currentRevision"]) == (read, kb.revision)
    moved = moved_in(details)
    changed = {"edited", "renamed", "moved", "deleted", "merged", "into"}
    assert set(moved) == {pages[name].id for name in changed} | {created.id}
    assert child.id not in moved
    # Each with the last revision that changed it.
    assert moved[pages["edited"].id].revision == read + 2
    assert moved[pages["moved"].id].ref == "org:acme#untouched/moved"


def test_a_job_that_kept_up_writes_all_its_pages_in_one_revision(
    kb: KnowledgeBase, ana: Client
) -> None:
    pages = [ana.made(f"p{number}").id for number in range(5)]
    read = kb.revision
    answer = ana.commit(*edits(pages), expectedRevision=read)
    assert answer.status == 201
    assert kb.revision == read + 1
    assert {ana.page(page).version for page in pages} == {2}


def test_expected_versions_of_pages_do_the_same(
    kb: KnowledgeBase, ana: Client, ben: Client
) -> None:
    """One stale page refuses the whole, and the other pages stay as they are."""
    pages = [ana.made(f"p{number}").id for number in range(5)]
    ben.edit(pages[3], 1, body="newer\n")
    with kb.nothing_written():
        details = ana.commit(*edits(pages, 1)).refused(409, "VERSION_CONFLICT").details
    assert (details["pageId"], details["currentVersion"]) == (pages[3], 2)
    assert {ana.page(page).body for page in pages} == {None, "newer\n"}


def test_pages_the_caller_cannot_see_are_not_told_of(
    kb: KnowledgeBase, asking: Ask, ana: Client
) -> None:
    page = ana.made("p").id
    vault = asking("user:vic", VAULT)
    read = kb.revision
    vault.made("secret", scope=VAULT)
    seen = ana.made("seen")
    answer = ana.commit(*edits([page]), expectedRevision=read).refused(409, "REVISION_CONFLICT")
    assert set(moved_in(answer.details)) == {seen.id}


def test_a_dry_run_is_held_to_its_revision_too(kb: KnowledgeBase, ana: Client, ben: Client) -> None:
    page, read = ana.made("p").id, kb.revision
    with kb.nothing_written():
        assert ana.commit(*edits([page]), expectedRevision=read, dryRun=True).status == 200
    ben.edit(page, 1, body="newer\n")
    with kb.nothing_written():
        ana.commit(*edits([page]), expectedRevision=read, dryRun=True).refused(
            409, "REVISION_CONFLICT"
        )


def test_a_revision_that_was_never_there(kb: KnowledgeBase, ana: Client) -> None:
    page = ana.made("p").id
    for expected in (kb.revision + 1, 10**9, 0):
        with kb.nothing_written():
            refusal = ana.commit(*edits([page]), expectedRevision=expected).refusal
        assert refusal.http_status in (404, 409), "never taken for the head"
