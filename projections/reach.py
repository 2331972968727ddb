"""What a snapshot's reader reaches: configurations and known scopes, kept between reads.

All that is kept is filed under hashes that were read in the transaction at hand, so nothing
can outlive its facts, whichever process wrote last and however many databases one serves.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import cast

from sqlalchemy import bindparam, select

from kbstore.access import Access, Configuration, load_configuration
from kbstore.store.commits import Head
from kbstore.store.connection import Queryable
from kbstore.store.statements import Statement, Value
from projections.caching import LruCache
from projections.tables import configurations, scopes

_CONFIGURATIONS_CACHED_MAX = 64
_SCOPE_SETS_CACHED_MAX = 256
_FILTERS_CACHED_MAX = 1_024

Parameters = dict[str, Value | Collection[Value]]


_SCOPES = Statement(
    select(scopes.c.scope).where(
        scopes.c.kb_id == bindparam("kb_id"), scopes.c.generation == bindparam("generation")
    )
)
_CONFIGURED = Statement(
    select(configurations.c.from_revision, configurations.c.text_ref)
    .where(
        configurations.c.kb_id == bindparam("kb_id"),
        configurations.c.generation == bindparam("generation"),
        configurations.c.from_revision <= bindparam("revision"),
    )
    .order_by(configurations.c.from_revision.desc())
    .limit(1)
)
_CONFIGURATION = Statement(
    select(configurations.c.configuration).where(
        configurations.c.kb_id == bindparam("kb_id"),
        configurations.c.generation == bindparam("generation"),
        configurations.c.from_revision == bindparam("revision"),
    )
)

_configurations: LruCache[bytes, Configuration] = LruCache(_CONFIGURATIONS_CACHED_MAX)
_scope_sets: LruCache[tuple[bytes, int], frozenset[str]] = LruCache(_SCOPE_SETS_CACHED_MAX)


def configured(connection: Queryable, head: Head, revision: int) -> tuple[int, bytes | None]:
    """The revision that made the configuration in force, and the reference to its text."""
    row = connection.one(_CONFIGURED, _keys(head, revision))
    return (cast(int, row[0]), cast(bytes, row[1])) if row else (0, None)


def configuration_of(
    connection: Queryable, head: Head, revision: int, text_ref: bytes | None
) -> Configuration:
    if text_ref is None:
        return Configuration.empty()
    # The reference holds the salted hash of the text: equal references mean equal texts.
    found = _configurations.get(text_ref)
    if found is None:
        row = connection.one(_CONFIGURATION, _keys(head, revision))
        assert row is not None, "a configuration row has a text"
        found = load_configuration(cast(str, row[0]), "json")
        _configurations.put(text_ref, found)
    return found


def scopes_written(connection: Queryable, head: Head, digest: bytes | None) -> frozenset[str]:
    """Every scope that ever had a written page.

    `digest` is that of the commit which brought the newest of them. Digests chain, so it
    stands for the whole history up to there, and no scope came since. A generation may have
    been built because rows of the one before were damaged.
    """
    if digest is None:
        return frozenset()
    found = _scope_sets.get((digest, head.generation))
    if found is None:
        rows = connection.all(_SCOPES, {"kb_id": head.kb_id.bytes, "generation": head.generation})
        found = frozenset(cast(str, row[0]) for row in rows)
        _scope_sets.put((digest, head.generation), found)
    return found


@lru_cache(maxsize=_FILTERS_CACHED_MAX)
def filter_parameters(access: Access, written: frozenset[str]) -> Parameters:
    """Who reads or owns every scope that has pages is asked for none of them by name."""
    reads_all = written <= access.readable
    owned = access.readable if access.is_auditor else access.owned
    owns_all = written <= owned
    return {
        "reads_all": int(reads_all),
        "owns_all": int(owns_all),
        "readable": () if reads_all else tuple(written & access.readable),
        "owned": () if owns_all else tuple(written & owned),
    }


def _keys(head: Head, revision: int) -> Parameters:
    return {"kb_id": head.kb_id.bytes, "generation": head.generation, "revision": revision}
