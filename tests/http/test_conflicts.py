"""What a refused writer is told: enough to go on."""

import httpx

from tests.http.world import World, code_of, create, details_of, if_match


def test_a_conflict_shows_who_when_what_and_a_way_forward(
    world: World, owner: httpx.Client
) -> None:
    page = create(owner, "A", key="a", body="one\ntwo\nthree\nfour\nfive\n")
    other = world.client("org:acme", principal="user:bob")
    theirs = other.patch(
        f"/pages/{page['id']}",
        json={"body": "ONE\ntwo\nthree\nfour\nfive\n"},
        headers=if_match(page),
    ).json()
    refused = owner.patch(
        f"/pages/{page['id']}",
        json={"body": "one\ntwo\nthree\nfour\nFIVE\n"},
        headers=if_match(page),
    )
    assert (refused.status_code, code_of(refused)) == (409, "VERSION_CONFLICT")
    details = details_of(refused)
    assert details["pageId"] == page["id"]
    assert details["ref"] == "org:acme#a"
    assert (details["expectedVersion"], details["currentVersion"]) == (1, 2)
    assert details["currentRevision"] == theirs["revision"]
    assert details["updatedBy"] == "user:bob"
    assert details["updatedAt"] == theirs["page"]["updatedAt"]
    assert "-one\n+ONE\n" in details["diff"]
    assert details["merged"] == {"body": "ONE\ntwo\nthree\nfour\nFIVE\n", "expectedVersion": 2}

    again = owner.patch(
        f"/pages/{page['id']}",
        json={"body": details["merged"]["body"]},
        headers={"If-Match": f'"{details["merged"]["expectedVersion"]}"'},
    )
    assert again.status_code == 200
    assert again.json()["page"]["body"] == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_overlapping_edits_are_not_merged(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\n")
    owner.patch(f"/pages/{page['id']}", json={"body": "1\n"}, headers=if_match(page))
    refused = owner.patch(f"/pages/{page['id']}", json={"body": "uno\n"}, headers=if_match(page))
    assert "merged" not in details_of(refused)
    assert details_of(refused)["diff"]


def test_a_stale_range_is_merged_too(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\ntwo\nthree\nfour\nfive\n")
    owner.patch(
        f"/pages/{page['id']}",
        json={"range": {"start": {"line": 1}, "end": {"line": 1}}, "body": "ONE"},
        headers=if_match(page),
    )
    refused = owner.patch(
        f"/pages/{page['id']}",
        json={"range": {"start": {"line": 5}, "end": {"line": 5}}, "body": "FIVE"},
        headers=if_match(page),
    )
    assert refused.status_code == 409
    assert details_of(refused)["merged"]["body"] == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_a_stale_move_and_delete_are_told_the_state(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\n")
    owner.patch(f"/pages/{page['id']}", json={"body": "two\n"}, headers=if_match(page))
    moved = owner.post(f"/pages/{page['id']}/move", json={"key": "k"}, headers=if_match(page))
    deleted = owner.delete(f"/pages/{page['id']}", headers=if_match(page))
    for refused in (moved, deleted):
        assert (refused.status_code, code_of(refused)) == (409, "VERSION_CONFLICT")
        assert details_of(refused)["currentVersion"] == 2
        assert "+two" in details_of(refused)["diff"]
        assert "merged" not in details_of(refused)


def test_a_conflict_on_a_deleted_page_tells_where_it_was(owner: httpx.Client) -> None:
    page = create(owner, "A", key="a", body="one\n")
    deleted = owner.delete(f"/pages/{page['id']}", headers=if_match(page)).json()
    refused = owner.post(
        f"/pages/{page['id']}/restore", json={"version": 1}, headers=if_match(page)
    )
    assert (refused.status_code, code_of(refused)) == (409, "VERSION_CONFLICT")
    details = details_of(refused)
    assert (details["ref"], details["updatedBy"]) == ("org:acme#a", "user:ann")
    assert details["currentRevision"] == deleted["revision"]


def test_a_conflict_names_the_changed_description(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\n", description="before")
    owner.patch(f"/pages/{page['id']}", json={"description": "after"}, headers=if_match(page))
    refused = owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers=if_match(page))
    details = details_of(refused)
    assert details["diff"] == ""
    assert details["changes"] == {"description": {"before": "before", "after": "after"}}
