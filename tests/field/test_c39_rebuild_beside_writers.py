"""C39: a rebuild beside live writers skipped, doubled or lost rows, and a second one did nothing.

The log is replayed up to a position that was fixed when a pass began, then what came since, the
last of it under the head's lock; what is filled is marked in the transaction that fills it. Here
writes come over HTTP while a rebuild runs, it dies half-way, and another one follows.
"""

import pytest

from kbstore.store.heads import read_head
from projections import rebuild as module
from projections.pace import Pace
from projections.projector import Projections
from projections.rebuild import Rebuilt, rebuild
from projections.verify import verify
from tests.asking import Client
from tests.backends import change
from tests.knowledge import SCOPE, KnowledgeBase

PAGES = 12
HALF = 8
"""The revision at which the first rebuild dies."""


class Killed(BaseException):
    """The end of a rebuild that is not its own doing."""


class Live:
    """Writes a page at every step of a rebuild, up to a bound, and can end it."""

    def __init__(self, ana: Client, writes: int, dies_at: int | None = None) -> None:
        self.made: list[str] = []
        self._ana, self._writes, self._dies_at = ana, writes, dies_at

    def __call__(self, done: int, total: int | None) -> None:
        if len(self.made) < self._writes:
            self.made.append(self._ana.made(name=f"During {done}").id)
        if self._dies_at is not None and done >= self._dies_at:
            raise Killed


@pytest.fixture(autouse=True)
def one_commit_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "pace_of", lambda database: Pace(0, 0))


def run(kb: KnowledgeBase, live: Live) -> Rebuilt:
    return rebuild(kb.services.database, kb.id, Projections(), live)


def generation(kb: KnowledgeBase) -> int:
    head = read_head(kb.services.database.reader(), kb.id)
    assert head is not None
    return head.generation


def check_live_is_what_a_replay_gives(kb: KnowledgeBase, ana: Client, pages: set[str]) -> None:
    assert verify(kb.services.database, kb.id, Projections()).failures == ()
    top = ana.page_at(SCOPE).id
    listed = [page.id for page in ana.children(top)]
    assert len(listed) == len(set(listed))
    assert set(listed) == pages


def test_what_is_written_meanwhile_is_there_once(kb: KnowledgeBase, ana: Client) -> None:
    before = {ana.made(name=f"Page {number}").id for number in range(PAGES)}
    live = Live(ana, writes=5)
    rebuilt = run(kb, live)
    assert (rebuilt.generation, len(live.made)) == (generation(kb), 5)
    check_live_is_what_a_replay_gives(kb, ana, before | set(live.made))


def test_one_that_died_is_gone_on_with(kb: KnowledgeBase, ana: Client) -> None:
    before = {ana.made(name=f"Page {number}").id for number in range(PAGES)}
    dying, old = Live(ana, writes=3, dies_at=HALF), generation(kb)
    with pytest.raises(Killed):
        run(kb, dying)
    assert generation(kb) == old
    check_live_is_what_a_replay_gives(kb, ana, before | set(dying.made))
    second = Live(ana, writes=3)
    rebuilt = run(kb, second)
    assert rebuilt.resumed_from is not None
    assert rebuilt.resumed_from >= HALF - 1
    assert generation(kb) == old + 1
    check_live_is_what_a_replay_gives(kb, ana, {*before, *dying.made, *second.made})


def test_a_second_rebuild_does_the_whole_work_again(kb: KnowledgeBase, ana: Client) -> None:
    before = {ana.made(name=f"Page {number}").id for number in range(PAGES)}
    first = run(kb, Live(ana, writes=0))
    with kb.services.database.connected() as connection:
        damaged = change(
            connection,
            "UPDATE page_versions SET name = 'Damaged' WHERE kb_id = ? AND parent_id IS NOT NULL",
            kb.id.bytes,
        )
    assert damaged == PAGES
    second = run(kb, Live(ana, writes=0))
    assert second.generation == first.generation + 1
    check_live_is_what_a_replay_gives(kb, ana, before)
