"""Scopes: those there are for the caller."""

from hashlib import sha256

from api.answers import Answer
from api.calls import Call
from api.cursors import refuse_mismatch
from api.listing import Part, Walk, Window, read_list
from api.operations import reads
from api.parameters import ListAt
from api.reading import State
from api.representations import ScopeList
from projections.read.declared import known_addresses
from projections.read.scopes import list_scopes

_KEY_BYTES = 16


@reads(
    "listScopes",
    "/scopes",
    "List the scopes that the caller has a role on, by address",
    parameters=ListAt,
    answer=ScopeList,
    is_list=True,
)
async def list_all_scopes(call: Call, given: ListAt) -> Answer:
    def query(state: State, window: Window) -> Part:
        found = list_scopes(state.snapshot, _address(state, window), window.limit)
        after = None if found.after is None else (_key(found.after),)
        return Part(ScopeList, found.items, after)

    return await read_list(call, given, Walk(operation="listScopes", is_long=True), query)


def _key(address: str) -> bytes:
    """Addresses may be longer than a cursor has room for; a hash stands for one of them."""
    return sha256(address.encode()).digest()[:_KEY_BYTES]


def _address(state: State, window: Window) -> str | None:
    """The address the walk stopped at, whether or not the caller still has a role there."""
    if window.after is None:
        return None
    (key,) = window.after
    for address in known_addresses(state.snapshot):
        if _key(address) == key:
            return address
    raise refuse_mismatch()


OPERATIONS = (list_all_scopes,)
