"""From what a model asks of a tool that writes to its command: the state it is asked of, and
the arguments that go together.

A plan refuses in the order of the write contract: what the run cannot read is not found, then
its role, then what the arguments say. Rules that depend on more of the state are left to the
writer, which checks the roles again under its lock.
"""

from collections.abc import Callable, Collection
from typing import Annotated, TypeVar

from msgspec import Meta
from msgspec.structs import fields

from api.parameters import Version
from api.tools.references import is_page_path, named_page
from api.tools.tool import Arguments
from api.write import Write
from kbstore.access import parse_address
from kbstore.domain.commands import ANY_VERSION, Expected
from kbstore.errors import PreconditionRequiredError, ValidationError
from kbstore.limits import TOOL_TEXT_CHARACTERS_MAX
from kbstore.store.connection import Connection
from projections.read.declared import is_there
from projections.read.refs import page_not_found
from projections.read.standing import Standing
from projections.snapshot import Snapshot, open_snapshot

T = TypeVar("T")

Address = Annotated[str, Meta(max_length=TOOL_TEXT_CHARACTERS_MAX)]
ExpectedVersion = Annotated[
    Version | None,
    Meta(
        description="The version you read. The write is refused if the page changed since. "
        "Needed with range."
    ),
]


async def at_head(write: Write, find: Callable[[Snapshot], T]) -> T:
    """What `find` makes of the newest state, in one snapshot and beside the event loop."""
    call = write.call

    def work(connection: Connection) -> T:
        with connection.reading():
            return find(open_snapshot(connection, call.kb.kb_id, call.caller))

    return await call.read(work, is_long=True)


def page_there(write: Write, snapshot: Snapshot, given: str) -> Standing:
    """The page that a reference names, as `named_page`; the rules will find it by its id."""
    page = named_page(snapshot, given)
    write.scopes.add(page.scope)
    return page


def scope_there(snapshot: Snapshot, given: str, field: str = "scope") -> str:
    """The address of a scope that is declared and that the run has a role on, in NFC.

    Raises ValidationError for a page in its place and for what is no address, and
    NotFoundError for a scope that is not there for the run.
    """
    if is_page_path(given):
        raise ValidationError(
            f'{field} takes scope addresses, such as org:acme, and "{given}" names a page.',
            field=field,
            reason="notAScope",
        )
    address = parse_address(given, field)
    if not is_there(snapshot, address):
        raise page_not_found(given)
    return address


def needed(what: str, field: str) -> ValidationError:
    """The refusal of a call that lacks an argument; `what` is the whole sentence."""
    return ValidationError(what, field=field, reason="missing")


def refuse_others(given: Arguments, action: str, takes: Collection[str]) -> None:
    """Raises ValidationError for arguments besides `takes`, which the action has no use for."""
    others = [name for name in said(given) if name not in takes]
    if others:
        raise ValidationError(
            f"{action} takes no {_either(others)}.",
            field=others[0],
            reason="outOfPlace",
        )


def said(given: Arguments) -> list[str]:
    """The arguments that were given, by the names that a model knows."""
    return [
        field.encode_name
        for field in fields(given)
        if field.name != "op" and getattr(given, field.name) is not None
    ]


def expected(snapshot: Snapshot, given: int | None, action: str) -> Expected:
    """The version expected: any where none is given, unless the knowledge base wants one.

    Raises PreconditionRequiredError.
    """
    if given is not None:
        return given
    if snapshot.configuration_now.settings.require_expected_version:
        raise PreconditionRequiredError(
            f"{action} needs expectedVersion here: the version you read.",
            field="expectedVersion",
        )
    return ANY_VERSION


def _either(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
