"""The key of each request is that of today, and says what the request may reach."""

import httpx2

from tests.knowledge import SCOPE, TEAM, KnowledgeBase
from tests.mcp.speaking import ACCEPTED, Make, Wire, ask, call_of, error_in


def refs(response: httpx2.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [entry["ref"] for entry in response.json()["result"]["structuredContent"]["entries"]]


def test_a_revoked_key_stops_between_two_calls(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        token = kb.token()
        message, headers = call_of(make)
        async with wire.http(token, {**ACCEPTED, **headers}) as http:
            assert refs(await http.post("/mcp", json=message)) == [SCOPE]
            kb.services.commands.catalogue.revoke_key(token.split("_")[1])
            refused = await http.post("/mcp", json=message)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")

    ask(kb, story)


def test_two_keys_in_one_connection_see_their_own(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        ana, eve = kb.token(), kb.token("user:eve", ("vault:acme",))
        message, headers = call_of(make)
        async with wire.http("", {**ACCEPTED, **headers}) as http:
            for token, expected in ((ana, SCOPE), (eve, "vault:acme"), (ana, SCOPE)):
                key = {"authorization": f"Bearer {token}"}
                assert refs(await http.post("/mcp", json=message, headers=key)) == [expected]

    ask(kb, story)


def test_scopes_are_narrowed_request_by_request(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        token = kb.token(held=(SCOPE, TEAM))
        message, headers = call_of(make)
        for given, expected in ((TEAM, [TEAM]), (f"{TEAM},{SCOPE}", [SCOPE, TEAM])):
            narrowed = await wire.post(token, message, {**headers, "KB-Scopes": given})
            assert refs(narrowed) == expected
        wrong = await wire.post(token, message, {**headers, "KB-Scopes": "no address"})
        assert wrong.status_code == 422
        assert error_in(wrong)["data"]["error"]["details"]["field"] == "KB-Scopes"

    ask(kb, story)
