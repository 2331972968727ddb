"""Who asks: keys, narrowing, and the one answer to missing and hidden."""

import httpx
import pytest

from tests.http.world import World, code_of, create, details_of


def told(response: httpx.Response) -> tuple[int, object, dict[str, str]]:
    """An answer without what differs from request to request."""
    body = response.json()
    body.pop("requestId")
    headers = {
        name: value
        for name, value in response.headers.items()
        if name not in ("x-request-id", "date")
    }
    return response.status_code, body, headers


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Basic x", "Bearer nonsense", "Bearer kbs_", "Bearer kbs_a_b"],
)
def test_without_a_working_key_nobody_is_let_in(world: World, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.strip()}
    url = f"{world.url}/openapi/v2/knowledge-bases/{world.slug}/scopes"
    response = httpx.get(url, headers=headers)
    assert (response.status_code, code_of(response)) == (401, "UNAUTHENTICATED")
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_wrong_secret_and_a_revoked_key_do_not_work(world: World) -> None:
    url = f"{world.url}/openapi/v2/knowledge-bases/{world.slug}/scopes"
    token = world.token("org:acme")
    wrong = httpx.get(url, headers={"Authorization": f"Bearer {token[:-1]}~"})
    assert wrong.status_code == 401
    assert httpx.get(url, headers={"Authorization": f"bearer {token}"}).status_code == 200
    world.services.commands.catalogue.revoke_key(token.split("_")[1])
    assert httpx.get(url, headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_another_knowledge_base_looks_like_none(world: World, owner: httpx.Client) -> None:
    other = World(world.services, world.url, slug=f"other-{world.slug}"[:63].rstrip("-"))
    answers = [
        owner.get(f"{world.url}/openapi/v2/knowledge-bases/{name}/scopes")
        for name in (other.slug, f"knowledge-base-{other.kb_id}", "no-such-kb", "%20", "a" * 500)
    ]
    assert {code_of(answer) for answer in answers} == {"NOT_FOUND"}
    assert all(told(answer) == told(answers[0]) for answer in answers)


def test_a_knowledge_base_is_addressed_by_id_or_slug(world: World, owner: httpx.Client) -> None:
    base = f"{world.url}/openapi/v2/knowledge-bases"
    names = (world.slug, str(world.kb_id), f"knowledge-base-{world.kb_id}")
    answers = [owner.get(f"{base}/{name}/scopes") for name in names]
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].status_code == 200


def test_missing_and_hidden_answer_the_same(world: World, owner: httpx.Client) -> None:
    hidden = create(owner, "Secret", key="secret", body="hidden")
    note = owner.post(
        f"/pages/{hidden['id']}/notes", json={"text": "psst", "scope": ["org:acme"]}
    ).json()["note"]
    stranger = world.client("org:other", principal="user:eve")
    none = "01890000-0000-7000-8000-000000000000"
    for method, path, body in (
        ("GET", "/pages/{}", None),
        ("GET", "/pages/{}/children", None),
        ("GET", "/pages/{}/notes", None),
        ("GET", "/pages/{}/pins", None),
        ("GET", "/pages/{}/backlinks", None),
        ("GET", "/pages/{}/history", None),
        ("GET", "/pages/{}/diff?from=1&to=1", None),
        ("PATCH", "/pages/{}", {"name": "x"}),
        ("POST", "/pages/{}/move", {"key": "x"}),
        ("POST", "/pages/{}/merge", {"into": none}),
        ("POST", "/pages/{}/restore", {"version": 1}),
        ("DELETE", "/pages/{}", None),
        ("POST", "/pages/{}/notes", {"text": "x", "scope": ["org:other"]}),
        ("PUT", "/pages/{}/pins/page", {"audience": ["org:other"]}),
        ("DELETE", "/pages/{}/pins/page", None),
    ):
        answers = []
        for page_id in (hidden["id"], none):
            response = stranger.request(
                method, path.format(page_id), json=body, headers={"If-Match": "*"}
            )
            text = response.text.replace(page_id, "ID")
            answers.append((response.status_code, text.replace(response.json()["requestId"], "")))
            assert (response.status_code, code_of(response)) == (404, "NOT_FOUND"), (method, path)
        assert answers[0] == answers[1], (method, path)
    for note_id in (note["id"], none):
        for method in ("GET", "DELETE"):
            assert code_of(stranger.request(method, f"/notes/{note_id}")) == "NOT_FOUND"
    by_ref = [
        stranger.get("/pages", params={"ref": f"org:acme#{key}"}) for key in ("secret", "nosecret")
    ]
    assert {answer.status_code for answer in by_ref} == {404}
    for path in ("/commits", "/events", "/deletions", "/scopes"):
        assert "ecret" not in stranger.get(path, params={"limit": 200}).text


def test_kb_scopes_narrows_and_never_widens(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    path = f"/pages/{page['id']}"
    assert owner.get(path, headers={"KB-Scopes": "org:other, org:acme"}).status_code == 200
    for narrowed in ("", "org:other", " , "):
        assert owner.get(path, headers={"KB-Scopes": narrowed.strip()}).status_code == 404
    stranger = world.client("org:other", principal="user:eve")
    assert stranger.get(path, headers={"KB-Scopes": "org:acme"}).status_code == 404


@pytest.mark.parametrize(
    ("header", "value", "reason"),
    [
        ("KB-Scopes", b"nonsense", "malformed"),
        ("KB-Scopes", b"org:\xff", "notUtf8"),
        ("KB-Scopes", b",".join(b"org:a%d" % n for n in range(101)), "tooMany"),
        ("KB-Run", b"r" * 201, "tooLong"),
        ("KB-Tool-Call", b"\xff", "notUtf8"),
        ("KB-Message", b"m" * 1_001, "tooLong"),
    ],
)
def test_wrong_headers_are_refused_by_name(
    owner: httpx.Client, header: str, value: bytes, reason: str
) -> None:
    response = owner.post(
        "/pages",
        json={"scope": "org:acme", "name": "A"},
        headers=httpx.Headers([(header.encode(), value)]),
    )
    assert response.status_code == 422, response.text
    assert (details_of(response)["field"], details_of(response)["reason"]) == (header, reason)


def test_what_a_run_says_of_itself_goes_into_the_commit(owner: httpx.Client) -> None:
    said = [
        (b"KB-Run", b"run-7"),
        (b"KB-Tool-Call", b"call-9"),
        (b"KB-Message", "Größer".encode()),
    ]
    response = owner.post(
        "/pages", json={"scope": "org:acme", "name": "A"}, headers=httpx.Headers(said)
    )
    revision = response.json()["revision"]
    commit = owner.get(f"/commits/{revision}").json()["commit"]
    assert (commit["actor"], commit["run"], commit["toolCall"], commit["message"]) == (
        "user:ann",
        "run-7",
        "call-9",
        "Größer",
    )
    assert commit["digest"] is None


def test_roles_are_todays(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    revision = owner.get("/revisions/active").json()["revision"]
    world.configure('[scopes."org:other"]\naccess = [{ principal = "self", role = "owner" }]\n')
    response = owner.get(f"/pages/{page['id']}", params={"revision": revision})
    assert response.status_code == 404
