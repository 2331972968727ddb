"""What a tool says of a conflict that it knows little of."""

from api.tools.failures import tell_conflict
from kbstore.errors import VersionConflictError


def test_a_conflict_of_no_page_is_told_as_it_is() -> None:
    conflict = VersionConflictError("Another write won; read again and retry.")
    assert tell_conflict(conflict, 1_000) is conflict


def test_of_a_page_that_is_out_of_sight_only_the_sentence_is_told() -> None:
    told = tell_conflict(VersionConflictError("whatever", pageId="p", expectedVersion=1), 1_000)
    assert told.message == "Knowledge record version conflict: p"
    assert told.details == {"pageId": "p", "expectedVersion": 1}
