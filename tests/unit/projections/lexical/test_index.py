"""One index follows the rows, whoever wrote them, and notices a history that is another."""

import threading
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import numpy as np
import pytest

from kbstore.errors import SearchTimeoutError
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.heads import read_head
from kbstore.store.statements import Row, Statement, Values
from projections.lexical import index as module
from projections.lexical.evaluating import Labels, scores_of
from projections.lexical.index import Deadline, Index, View
from projections.lexical.kept import forget_indexes, view_of
from projections.projector import Projections
from projections.rebuild import rebuild
from tests.backends import Databases, on_sqlite
from tests.unit.projections.history import History, open_database

SECONDS = 60
NO_LABELS = Labels(np.zeros(0, np.intp), (), ())


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "TAIL_DOCUMENTS_MAX", 4)
    monkeypatch.setattr(module, "FAN", 2)
    monkeypatch.setattr(module, "_ROWS_READ_MAX", 3)
    forget_indexes()
    yield
    forget_indexes()


def head_of(history: History) -> Head:
    head = read_head(history.connection, history.kb_id)
    assert head is not None
    return head


def pages_with(view: View, head: Head, word: str) -> set[UUID]:
    """The pages that ever held the word up to a head and still do."""
    documents = view.documents.up_to(head.revision)
    scores = scores_of(view, documents, [word], NO_LABELS, Deadline(SECONDS))
    return {UUID(bytes=view.documents.ids[subject]) for subject in np.flatnonzero(scores).tolist()}


def write(history: History, words: list[str]) -> list[UUID]:
    top = history.create(template="")
    return [history.create(parent=top, body=word) for word in words]


def test_it_follows_what_is_new(history: History) -> None:
    index = Index()
    top, *pages = [history.create(template=""), *write(history, ["one", "two", "three"])]
    for number in range(20):
        pages.append(history.create(parent=top, body=f"one {number}"))
        head = head_of(history)
        view = index.view(history.connection, head, Deadline(SECONDS))
        assert view is not None
        assert pages_with(view, head, "one") == {pages[0], *pages[3:]}
        assert pages_with(view, head, f"{number:02}"[-2:]) <= set(pages[3:])
    assert view is not None
    assert len(view.parts) < 6


def test_an_event_that_takes_many_pages_along_is_read_in_parts(history: History) -> None:
    """Its rows share a position, and are more than are read at once."""
    org, team = (history.create(scope=scope, template="") for scope in ("org:a", "org:b"))
    parent = history.create(parent=org, scope="org:a", body="moved")
    for _ in range(10):
        history.create(parent=parent, scope="org:a", body="moved")
    history.move(parent, team)
    head = head_of(history)
    view = Index().view(history.connection, head, Deadline(SECONDS))
    assert view is not None
    assert len(view.documents.subjects) == 2 + 11 + 11
    last = view.documents.last_of_each(24, 13)
    scopes = [view.documents.addresses[n] for n in view.documents.scopes[last]]
    assert sorted(scopes) == ["org:a"] + ["org:b"] * 12


def test_an_older_state_is_answered_by_an_index_that_is_further(history: History) -> None:
    index = Index()
    heads = []
    for word in ("one", "one", "two", "one"):
        write(history, [word])
        heads.append(head_of(history))
    assert index.view(history.connection, heads[-1], Deadline(SECONDS)) is not None
    found = []
    for head in heads:
        view = index.view(history.connection, head, Deadline(SECONDS))
        assert view is not None
        found.append(len(pages_with(view, head, "one")))
    assert found == [1, 2, 2, 3]


def test_a_state_from_long_ago_gets_an_index_of_its_own(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_DIGESTS_KEPT_MAX", 2)
    write(history, ["one"])
    old = head_of(history)
    write(history, ["one", "two", "one"])
    head = head_of(history)
    newer = view_of(history.connection, head, Deadline(SECONDS))
    # Its reader's transaction began at the old head: rows behind it are not there for him.
    assert len(pages_with(view_of(history.connection, old, Deadline(SECONDS)), old, "one")) == 1
    again = view_of(history.connection, head, Deadline(SECONDS))
    assert again.parts[0] is newer.parts[0], "the index of the newer state was kept"


@on_sqlite
def test_two_histories_of_one_knowledge_base_are_told_apart(databases: Databases) -> None:
    """As where a backup of a database is served beside it, and both are written to."""
    with (
        databases.lent() as url,
        databases.lent() as other_url,
        closing(open_database(url)) as one,
        closing(open_database(other_url)) as two,
    ):
        left, right = History(one), History(two)
        assert left.kb_id == right.kb_id
        found = 0
        for words in (["same"], ["left", "more"], ["left"]):
            write(left, words)
            write(right, [word.replace("left", "right") for word in words])
            found += words.count("left")
            for history, expected in ((left, found), (right, 0), (left, found)):
                head = head_of(history)
                view = view_of(history.connection, head, Deadline(SECONDS))
                assert len(pages_with(view, head, "left")) == expected
        left.connection.close()
        right.connection.close()


def test_a_rebuilt_generation_is_read_anew(history: History) -> None:
    pages = write(history, ["one", "two"])
    before = view_of(history.connection, head_of(history), Deadline(SECONDS))
    rebuild(history.database, history.kb_id, Projections())
    head = head_of(history)
    view = view_of(history.connection, head, Deadline(SECONDS))
    assert view.documents.ids is not before.documents.ids
    assert pages_with(view, head, "one") == {pages[0]}


def test_a_search_that_takes_too_long_keeps_what_it_followed(history: History) -> None:
    pages = write(history, ["one"] * 20)
    head = head_of(history)
    index = Index()
    for _ in range(20):
        try:
            view = index.view(history.connection, head, Deadline(0.0))
        except SearchTimeoutError as error:
            assert (error.code, error.http_status) == ("SEARCH_TIMEOUT", 503)
        else:
            break
    assert view is not None, "each try read on"
    assert pages_with(view, head, "one") == set(pages)
    with pytest.raises(SearchTimeoutError):
        scores_of(view, 21, ["one"], NO_LABELS, Deadline(0.0))


def test_what_was_half_read_goes_on_in_its_own_history_alone(history: History) -> None:
    write(history, ["one"] * 20)
    head = head_of(history)
    index = Index()
    with pytest.raises(SearchTimeoutError):
        index.view(history.connection, head, Deadline(0.0))
    foreign = _Altered(history.connection)
    assert index.view(foreign, head, Deadline(SECONDS)) is None
    assert index.view(history.connection, head, Deadline(SECONDS)) is not None


class _Altered:
    """A connection to a database in which every digest is another one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.all = connection.all

    def one(self, statement: Statement, values: Values) -> Row | None:
        return 0, b"another"


def test_an_index_in_use_is_waited_for_until_the_deadline(history: History) -> None:
    write(history, ["one"])
    index, head = Index(), head_of(history)
    with index._lock, pytest.raises(SearchTimeoutError):
        index.view(history.connection, head, Deadline(0.05))


@on_sqlite
def test_many_threads_search_while_one_writes(history: History) -> None:
    """Each sees exactly the pages of the head it read."""
    top = history.create(template="")
    wrong: list[str] = []
    stop = threading.Event()

    def look() -> None:
        connection = history.database.connect_reader()
        try:
            while not stop.is_set():
                with connection.reading():
                    head = read_head(connection, history.kb_id)
                    assert head is not None
                    view = view_of(connection, head, Deadline(SECONDS))
                    found = len(pages_with(view, head, "common"))
                    if found != head.revision - 1:
                        wrong.append(f"{found} pages at revision {head.revision}")
        except Exception as error:
            wrong.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(120):
        history.create(parent=top, body=f"common w{number}")
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
