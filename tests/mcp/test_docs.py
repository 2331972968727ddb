"""What `docs/how-to/connect-an-agent.md` shows is what happens."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from api.mcp.groups import NAMED
from tests.backends import on_sqlite
from tests.http.world import serve
from tests.knowledge import SCOPE, TEAM, KnowledgeBase

PAGE = (Path(__file__).parents[2] / "docs/how-to/connect-an-agent.md").read_text("utf-8")


@on_sqlite
def test_the_example_lists_the_scopes_of_a_key(kb: KnowledgeBase) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Callable[[str, str], Awaitable[list[str]]]] = {}
    exec(example, names)
    with serve(kb.services) as url:
        listing = names["list_scopes"](f"{url}/mcp", kb.token(held=(SCOPE, TEAM)))

        async def run() -> list[str]:
            return await listing

        assert asyncio.run(run()) == [SCOPE, TEAM]


def test_the_page_names_every_group_and_revision() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(NAMED)
    revisions = set(re.findall(r"\b20\d\d-\d\d-\d\d\b", PAGE))
    assert revisions == {*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS}
