"""What has to be there after a crash: all that was acknowledged, once, and nothing by halves."""

from collections import Counter

import httpx

from tests.crash.world import page_names
from tests.crash.writers import Writer


def check_nothing_half_done(client: httpx.Client, writers: list[Writer]) -> None:
    """Of what was never acknowledged all is there, or nothing; all else is there."""
    with client:
        names = Counter(page_names(client).values())
    assert set(names.values()) <= {1}
    expected = {name for writer in writers for name in writer.names.values()}
    for writer in writers:
        if writer.pending is not None:
            there = [name for name in writer.pending.names if name in names]
            assert there in ([], list(writer.pending.names))
            expected.update(there)
    assert set(names) == expected


def check_all_is_there_once(client: httpx.Client, writers: list[Writer]) -> None:
    """Once every write is acknowledged."""
    expected = {page: name for writer in writers for page, name in writer.names.items()}
    with client:
        assert page_names(client) == expected
        for writer in writers:
            assert writer.pending is None
            for page, known in writer.pages.items():
                read = client.get(f"/pages/{page}").json()["page"]
                assert (read["version"], read["body"]) == (known.version, known.body)
    # A commit of one writer is no other's.
    revisions = [revision for writer in writers for revision in writer.revisions]
    assert len(set(revisions)) == len(revisions)
