"""C31: after a write the read model was old, and the wait was for the wrong projection.

A write names its revision; a read at `minRevision` shows it or a later one, whatever it reads: the
tree, the body, search. Without it an answer names the revision it shows.
"""

import threading
import time

import pytest

from tests.asking import Answer, Client
from tests.knowledge import SCOPE


def tool(client: Client, name: str, **arguments: object) -> Answer:
    return client.ask("POST", f"/tools/{name}", arguments)


@pytest.mark.parametrize("rounds", [30])
def test_each_kind_of_read_shows_the_write_it_waits_for(ana: Client, rounds: int) -> None:
    for number in range(rounds):
        created = ana.create(f"p{number}", body=f"word{number}x\n")
        revision, page = created.revision, created.page
        tree = tool(ana, "knowledge_list", **{"from": SCOPE, "limit": 100, "minRevision": revision})
        assert page.ref in tree.raw.decode()
        read = tool(ana, "knowledge_read", page=page.ref, minRevision=revision)
        assert f"word{number}x" in read.raw.decode()
        found = tool(ana, "knowledge_search", query=f"word{number}x", minRevision=revision)
        assert page.ref in found.raw.decode()
        for answer in (tree, read, found):
            assert int(str(answer.json["revision"])) >= revision
            assert answer.headers["kb-revision"] == str(answer.json["revision"])


def test_a_read_waits_for_a_revision_that_is_about_to_come(ana: Client) -> None:
    ana.made("a", body="early")
    head = ana.part("/scopes").revision

    def write_soon() -> None:
        time.sleep(0.2)
        ana.made("b", body="lately")

    writing = threading.Thread(target=write_soon)
    writing.start()
    found = tool(ana, "knowledge_search", query="lately", minRevision=head + 1)
    writing.join()
    assert found.json["total"] == 1


def test_a_revision_that_does_not_come_is_answered_503_with_the_current_one(ana: Client) -> None:
    ana.made("a")
    head = ana.part("/scopes").revision
    behind = tool(ana, "knowledge_search", query="a", minRevision=head + 1_000)
    refused = behind.refused(503, "PROJECTION_BEHIND")
    assert refused.details["activeContentRevision"] == head
    assert behind.headers["retry-after"] == "1"
