"""Server processes on one database, and clients of each that no fault of a server escapes."""

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.acceptance.processes import Served, command_of, start_server
from tests.asking import Answer, Client
from tests.knowledge import SCOPE, KnowledgeBase

_FAULT = re.compile(r'"status": ?5|"level": ?"error"|Traceback')


def quiet_command(database_url: str) -> list[str]:
    """A server that neither sends notices nor hears them."""
    return [sys.executable, "-m", "tests.races.quiet_serving", database_url]


@contextmanager
def server_processes(
    database_url: str, count: int, *, has_notices: bool = True
) -> Iterator[list[Served]]:
    """Servers for the length of a block, in which none of them may answer with a fault."""
    loud = command_of(database_url, "serve", "--port", 0)
    command = loud if has_notices else quiet_command(database_url)
    with ExitStack() as stack:
        servers = []
        for _ in range(count):
            served = start_server(command)
            stack.callback(_kill, served)
            servers.append(served)
        yield servers
        for served in servers:
            ended = served.end()
            assert ended.code == 0, ended.err[-2_000:]
            faults = [line for line in ended.err.splitlines() if _FAULT.search(line)]
            assert faults == []


def _kill(served: Served) -> None:
    if served.process.returncode is None:
        served.kill()


class SteadyClient(Client):
    """One whose server never says that it cannot answer."""

    def ask(self, *arguments: Any, **more: Any) -> Answer:
        answer = super().ask(*arguments, **more)
        assert answer.status < 500, answer.raw
        return answer


class Pair:
    """A knowledge base behind two servers."""

    def __init__(self, kb: KnowledgeBase, urls: list[str]) -> None:
        self.kb = kb
        self.urls = urls
        self._clients: list[SteadyClient] = []

    def clients(
        self, principal: str = "user:ana", *held: str, grants: tuple[str, ...] = ()
    ) -> tuple[SteadyClient, SteadyClient]:
        """Two with one key: each at another server."""
        token = self.kb.token(principal, held or (SCOPE,), grants)
        made = [SteadyClient(url, self.kb.slug, token) for url in self.urls]
        self._clients += made
        one, other = made
        return one, other

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def check_log(self) -> None:
        """Positions, revisions and versions have no gaps, and the tree is one."""
        log = self.kb.log()
        assert [event.position for event in log] == list(range(1, len(log) + 1))
        revisions = self.kb.rows("SELECT revision FROM commits WHERE kb_id = ? ORDER BY revision")
        assert revisions == [(number,) for number in range(1, self.kb.revision + 1)]
        versions: dict[str, int] = {}
        for event in log:
            assert event.version == versions.get(event.page, 0) + 1
            versions[event.page] = event.version
        self.kb.check_tree()
