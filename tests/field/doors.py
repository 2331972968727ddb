"""The two ways a change can be sent: as a request of its own, and in a commit of several."""

from collections.abc import Callable, Mapping

import pytest

from tests.asking import Answer, Client, Version

Door = Callable[[Client, str, str, Version | None, Mapping[str, object]], Answer]
"""client, operation, page, expected version (None: unsaid, "*": any), fields."""

ROUTES = {"move": "move", "merge": "merge", "restore": "restore"}


def single(
    client: Client, op: str, page: str, version: Version | None, fields: Mapping[str, object]
) -> Answer:
    if op == "edit":
        return client.ask("PATCH", f"/pages/{page}", dict(fields), match=version)
    if op == "delete":
        return client.ask("DELETE", f"/pages/{page}", match=version, query=fields)
    return client.ask("POST", f"/pages/{page}/{ROUTES[op]}", dict(fields), match=version)


def batched(
    client: Client, op: str, page: str, version: Version | None, fields: Mapping[str, object]
) -> Answer:
    operation: dict[str, object] = {"op": op, "page": page, **fields}
    if version is not None:
        operation["expectedVersion"] = "any" if version == "*" else version
    return client.commit(operation)


both_doors = pytest.mark.parametrize("door", [single, batched])


def lines(start: int, end: int | None = None) -> dict[str, object]:
    """A range of whole lines."""
    return {"start": {"line": start}, "end": {"line": end or start}}
