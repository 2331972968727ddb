"""Pages over HTTP: created, read, edited, by the write contract."""

import httpx
import pytest

from tests.http.world import World, code_of, create, details_of, if_match


def test_a_created_page_is_read_back_by_id_and_by_ref(owner: httpx.Client) -> None:
    page = create(owner, "Refund policy", key="refund", description="Money back", body="# Refund\n")
    by_id = owner.get(f"/pages/{page['id']}")
    by_ref = owner.get("/pages", params={"ref": "org:acme#refund"})
    assert by_id.status_code == by_ref.status_code == 200
    assert by_id.json() == by_ref.json()
    assert by_id.json()["page"] == page
    assert by_id.headers["kb-revision"] == str(by_id.json()["revision"])
    assert by_id.headers["etag"].startswith('"1-')
    assert set(page) == {
        "id",
        "ref",
        "scope",
        "key",
        "name",
        "description",
        "version",
        "parent",
        "path",
        "body",
        "frontmatter",
        "createdAt",
        "updatedAt",
        "updatedBy",
    }


def test_a_create_tells_where_the_page_is(owner: httpx.Client) -> None:
    response = owner.post("/pages", json={"scope": "org:acme", "name": "A"})
    assert response.status_code == 201
    read = owner.get(response.url.join(response.headers["location"]))
    assert read.json()["page"] == response.json()["page"]
    assert read.json()["revision"] == response.json()["revision"]
    assert read.headers["etag"] == response.headers["etag"]
    assert read.headers["kb-revision"] == response.headers["kb-revision"]


def test_an_edit_makes_a_version_and_a_revision(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one")
    response = owner.patch(
        f"/pages/{page['id']}", json={"name": "B", "body": "two"}, headers=if_match(page)
    )
    assert response.status_code == 200
    answer = response.json()
    assert answer["changed"] is True
    assert (answer["page"]["name"], answer["page"]["body"]) == ("B", "two")
    assert answer["page"]["version"] == page["version"] + 1
    assert owner.get("/revisions/active").json()["revision"] == answer["revision"]


def test_fields_are_cleared_by_null_and_kept_when_left_out(owner: httpx.Client) -> None:
    page = create(owner, "A", description="about", body="text")
    response = owner.patch(f"/pages/{page['id']}", json={"body": None}, headers=if_match(page))
    assert response.json()["page"]["body"] is None
    assert response.json()["page"]["description"] == "about"


def test_an_edit_needs_if_match(owner: httpx.Client) -> None:
    page = create(owner, "A")
    missing = owner.patch(f"/pages/{page['id']}", json={"name": "B"})
    assert (missing.status_code, code_of(missing)) == (428, "PRECONDITION_REQUIRED")
    malformed = owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers={"If-Match": "1"})
    assert malformed.status_code == 422
    assert details_of(malformed) == {"field": "If-Match", "reason": "malformed"}
    assert owner.get(f"/pages/{page['id']}").json()["page"]["version"] == 1


def test_if_match_takes_any_version_a_version_or_a_whole_tag(owner: httpx.Client) -> None:
    page = create(owner, "A")
    tag = owner.get(f"/pages/{page['id']}").headers["etag"]
    for value, name in (("*", "B"), ('"2"', "C"), (tag.replace('"1-', '"3-'), "D")):
        response = owner.patch(
            f"/pages/{page['id']}", json={"name": name}, headers={"If-Match": value}
        )
        assert response.status_code == 200, response.text


def test_a_stale_version_is_a_conflict_and_nothing_is_written(owner: httpx.Client) -> None:
    page = create(owner, "A")
    owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers=if_match(page))
    head = owner.get("/revisions/active").json()
    late = owner.patch(f"/pages/{page['id']}", json={"name": "C"}, headers=if_match(page))
    assert (late.status_code, code_of(late)) == (409, "VERSION_CONFLICT")
    assert owner.get("/revisions/active").json() == head


def test_an_edit_that_changes_nothing_is_accepted_with_a_stale_version(owner: httpx.Client) -> None:
    page = create(owner, "A", body="text")
    owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers=if_match(page))
    head = owner.get("/revisions/active").json()["revision"]
    same = owner.patch(
        f"/pages/{page['id']}", json={"name": "B", "body": "text"}, headers=if_match(page)
    )
    assert same.status_code == 200
    assert same.json()["changed"] is False
    assert same.json()["revision"] == head == owner.get("/revisions/active").json()["revision"]


def test_a_range_replaces_lines(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\ntwo\nthree\n")
    response = owner.patch(
        f"/pages/{page['id']}",
        json={"range": {"start": {"line": 2}, "end": {"line": 2}}, "body": "2"},
        headers=if_match(page),
    )
    assert response.json()["page"]["body"] == "one\n2\nthree\n"
    history = owner.get(f"/pages/{page['id']}/history").json()["items"]
    assert history[-1]["changed"] == ["body"]


def test_a_range_with_a_stale_version_is_always_a_conflict(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\ntwo\n")
    owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers=if_match(page))
    for version in (1, 7):
        same = owner.patch(
            f"/pages/{page['id']}",
            json={"range": {"start": {"line": 2}, "end": {"line": 2}}, "body": "two"},
            headers={"If-Match": f'"{version}"'},
        )
        assert (same.status_code, code_of(same)) == (409, "VERSION_CONFLICT")
        assert details_of(same)["currentVersion"] == 2


@pytest.mark.parametrize(
    ("range_", "if_match_", "field", "reason"),
    [
        ({"start": {"line": 1}, "end": {"line": 9}}, '"1"', "range", "pastEnd"),
        ({"start": {"line": 2}, "end": {"line": 1}}, '"1"', "range", "startAfterEnd"),
        ({"start": {"line": 1}, "end": {"line": 1}}, "*", "range", "anyVersion"),
    ],
)
def test_a_wrong_range_is_refused(
    owner: httpx.Client, range_: object, if_match_: str, field: str, reason: str
) -> None:
    page = create(owner, "A", body="one\ntwo")
    response = owner.patch(
        f"/pages/{page['id']}", json={"range": range_, "body": "x"}, headers={"If-Match": if_match_}
    )
    assert response.status_code == 422
    assert details_of(response)["field"] == field
    assert details_of(response)["reason"] == reason


def test_a_range_needs_a_body(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one")
    response = owner.patch(
        f"/pages/{page['id']}",
        json={"range": {"start": {"line": 1}, "end": {"line": 1}}},
        headers=if_match(page),
    )
    assert details_of(response) == {"field": "body", "reason": "missing"}


def test_access_comes_before_validation(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    stranger = world.client("org:other", principal="user:eve")
    viewer = world.client("guest:v", principal="user:vic")
    hidden = stranger.patch(f"/pages/{page['id']}", json={"nonsense": 1})
    assert (hidden.status_code, code_of(hidden)) == (404, "NOT_FOUND")
    ref = viewer.get("/pages", params={"ref": "guest:v"}).json()["page"]
    weak = viewer.patch(f"/pages/{ref['id']}", json={"nonsense": 1})
    assert (weak.status_code, code_of(weak)) == (403, "ROLE_TOO_WEAK")
    assert details_of(weak) == {"scope": "guest:v", "needed": "editor", "actual": "viewer"}
    allowed = owner.patch(f"/pages/{page['id']}", json={"nonsense": 1}, headers=if_match(page))
    assert details_of(allowed) == {"field": "nonsense", "reason": "unknown"}


def test_a_text_page_id_that_is_no_id_names_nothing(owner: httpx.Client) -> None:
    for path in ("/pages/nonsense", "/pages/nonsense/children", "/notes/7"):
        response = owner.get(path)
        assert (response.status_code, code_of(response)) == (404, "NOT_FOUND")


def test_a_scope_page_is_there_before_it_is_written(owner: httpx.Client) -> None:
    page = owner.get("/pages", params={"ref": "org:acme"}).json()["page"]
    assert (page["version"], page["parent"], page["path"]) == (0, None, "")
    response = owner.patch(
        f"/pages/{page['id']}", json={"body": "# Acme\n"}, headers=if_match(page)
    )
    assert response.status_code == 200, response.text
    assert response.json()["page"]["id"] == page["id"]
    named = owner.patch(f"/pages/{page['id']}", json={"name": "X"}, headers={"If-Match": "*"})
    assert (named.status_code, code_of(named)) == (409, "SCOPE_PAGE")
