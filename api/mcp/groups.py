"""The groups of tools that a client picks by `?tools=`."""

from api.parameters import Parameters, parse_parameters
from api.tools.registry import INSTRUCTIONS
from api.tools.tool import Group
from kbstore.errors import ValidationError

ALL: tuple[Group, ...] = tuple(INSTRUCTIONS)
NAMED: dict[str, tuple[Group, ...]] = {"knowledge": ALL, **{group: (group,) for group in ALL}}
"""What each name in `?tools=` stands for."""


class GroupParameters(Parameters, frozen=True, kw_only=True):
    """`tools` holds names from NAMED, parted by commas."""

    tools: str | None = None


def groups_in(query: bytes) -> tuple[Group, ...]:
    """The groups that a query string picks, in the order of the registry; all without one.

    Raises ValidationError: reason `unknown` for a name that no group has, `empty` for none.
    """
    given = parse_parameters(query, GroupParameters).tools
    if given is None:
        return ALL
    names = [name for part in given.split(",") if (name := part.strip())]
    if not names:
        raise _refused("tools names no group of tools", "empty")
    picked: set[Group] = set()
    for name in names:
        if name not in NAMED:
            raise _refused(f"There is no group of tools {name[:64]}", "unknown")
        picked.update(NAMED[name])
    return tuple(group for group in ALL if group in picked)


def _refused(what: str, reason: str) -> ValidationError:
    known = ", ".join(NAMED)
    return ValidationError(f"{what}; there are {known}.", field="tools", reason=reason)
