"""The configuration over HTTP."""

import httpx
import pytest

from tests.http.world import CONFIGURATION, World, code_of, details_of

TOML = {"Content-Type": "application/toml"}


@pytest.fixture
def admin(world: World) -> httpx.Client:
    return world.client(principal="user:admin", grants=("admin",))


def test_it_is_read_and_replaced_by_version(admin: httpx.Client, world: World) -> None:
    read = admin.get("/configuration")
    assert read.status_code == 200
    version = read.json()["version"]
    assert read.headers["etag"].startswith(f'"{version}-')
    assert set(read.json()["configuration"]["scopes"]) == {
        "org:acme",
        "org:other",
        "team:acme:$team",
        "guest:$who",
    }
    scopes = {"org:new": {"access": [{"principal": "self", "role": "owner"}]}}
    put = admin.put(
        "/configuration", json={"scopes": scopes}, headers={"If-Match": read.headers["etag"]}
    )
    assert put.status_code == 200, put.text
    assert put.json()["version"] == put.json()["revision"] == version + 1
    assert put.json()["configuration"] == {"scopes": scopes}
    again = admin.get("/configuration")
    assert again.headers["etag"] == put.headers["etag"]
    old = admin.get("/configuration", params={"revision": version}).json()
    assert old["configuration"] == read.json()["configuration"]
    assert world.client("org:new").get("/scopes").json()["items"][0]["scope"] == "org:new"


def test_it_takes_toml(admin: httpx.Client) -> None:
    same = admin.put("/configuration", content=CONFIGURATION, headers={**TOML, "If-Match": '"9"'})
    assert (same.status_code, same.json()["changed"]) == (200, False)


def test_it_needs_a_grant(world: World, owner: httpx.Client, admin: httpx.Client) -> None:
    for response in (
        owner.get("/configuration"),
        owner.put("/configuration", json={}, headers={"If-Match": "*"}),
        world.client(grants=("auditor",)).put("/configuration", json={}),
    ):
        assert (response.status_code, code_of(response)) == (403, "GRANT_MISSING")
    auditor = world.client(grants=("auditor",))
    assert auditor.get("/configuration").content == admin.get("/configuration").content


def test_it_needs_the_version_it_replaces(admin: httpx.Client) -> None:
    missing = admin.put("/configuration", json={})
    assert code_of(missing) == "PRECONDITION_REQUIRED"
    stale = admin.put("/configuration", json={}, headers={"If-Match": '"1"'})
    assert (stale.status_code, code_of(stale)) == (409, "VERSION_CONFLICT")
    assert details_of(stale)["currentVersion"] == admin.get("/configuration").json()["version"]


@pytest.mark.parametrize(
    ("content", "headers", "path"),
    [
        (b'{"scope": {}}', {"Content-Type": "application/json"}, "scope"),
        (
            b'{"scopes": {"org:a": {"rol": 1}}}',
            {"Content-Type": "application/json"},
            'scopes."org:a".rol',
        ),
        (b'{"scopes": {}, "scopes": {}}', {"Content-Type": "application/json"}, "scopes"),
        (b"[]", {"Content-Type": "application/json"}, ""),
        (b"scopes = 1", TOML, "scopes"),
        (b"= broken", TOML, ""),
    ],
)
def test_a_typo_is_named(
    admin: httpx.Client, content: bytes, headers: dict[str, str], path: str
) -> None:
    response = admin.put("/configuration", content=content, headers={**headers, "If-Match": "*"})
    assert (response.status_code, code_of(response)) == (422, "CONFIGURATION_INVALID")
    assert details_of(response)["path"] == path


def test_text_that_is_not_utf8_is_malformed(admin: httpx.Client) -> None:
    response = admin.put("/configuration", content=b"\xff", headers={**TOML, "If-Match": "*"})
    assert (response.status_code, code_of(response)) == (400, "MALFORMED_REQUEST")
