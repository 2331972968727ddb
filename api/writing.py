"""Writes: one way from a request to its command, and from what came of it to the answer.

The order of checks is that of the write contract: who asks and the knowledge base (before this
begins), idempotency, access to the page, validation, and then in the writer whether anything
changes, the version and the rules.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from api.answers import Answer
from api.authentication import origin_of
from api.bodies import media_type, parse_json, read_body
from api.calls import Call
from api.conflicts import enrich
from api.idempotency import claim_of, first_outcome
from api.reading import State, head_of, id_of, page_id_of
from api.write import Write, expected_version
from kbstore.access import Role
from kbstore.domain.commands import Command
from kbstore.errors import (
    ConflictError,
    KBStoreError,
    MalformedRequestError,
    NotFoundError,
    UnsupportedMediaTypeError,
)
from kbstore.service import CommandRequest, Outcome
from kbstore.store.connection import Connection
from kbstore.store.idempotency import Claim
from projections.read.notes import note
from projections.read.refs import standing
from projections.read.rows import last_row
from projections.snapshot import Snapshot, open_snapshot
from projections.views import Json

Check = Callable[[Connection, Call], None]
Admit = Callable[[Call], None]
Make = Callable[[Write], Awaitable[Command]]
Render = Callable[[Call, State, Outcome], Answer]

Target = Literal["page", "note", "restorable"]
"""What an address names: a page, a note, or a page that may be deleted."""

NO_BODY: Json = {}
JSON_TYPE = "application/json"


class WriteRules(Struct, frozen=True, kw_only=True):
    """What is checked before a handler makes its command, and how the outcome is told.

    `admit` passes a key that may ask this at all, the first time and again; `check` who is
    allowed to write there, before the first try alone: what he wrote may have ended or gone out
    of his reach since, and is shown as far as he may read it. Both raise for others.
    """

    admit: Admit | None = None
    check: Check | None = None
    is_conditional: bool = False
    is_body_optional: bool = False
    body_types: tuple[str, ...] = (JSON_TYPE,)
    render: Render


async def answer_write(call: Call, rules: WriteRules, make: Make) -> Answer:
    """The answer to a write; that of its first try when its `Idempotency-Key` was seen before."""
    raw, value = await read_value(
        call, is_optional=rules.is_body_optional, body_types=rules.body_types
    )
    if rules.admit is not None:
        rules.admit(call)
    return await answer_claimed(call, rules, make, raw, value, claim_of(call, value))


async def answer_claimed(
    call: Call, rules: WriteRules, make: Make, raw: bytes, value: Json, claim: Claim | None
) -> Answer:
    """The same for a body that was read, and the claim of its request."""
    if claim is None:
        return await _rendered(call, rules, await _run(call, rules, make, raw, value, None))
    running_key = (call.kb.kb_id, claim.principal, claim.key)
    seconds_max = call.server.settings.idempotency_wait_seconds_max
    async with call.server.running.turn(running_key, seconds_max):
        outcome = await first_outcome(call, claim)
        if outcome is None:
            try:
                outcome = await _run(call, rules, make, raw, value, claim)
            except KBStoreError:
                # Another process may have answered this request meanwhile, and what was checked
                # here is the state that it left: a page that it deleted is gone.
                outcome = await first_outcome(call, claim)
                if outcome is None:
                    raise
    return await _rendered(call, rules, outcome)


async def read_value(
    call: Call, *, is_optional: bool, body_types: tuple[str, ...] = (JSON_TYPE,)
) -> tuple[bytes, Json]:
    """The body and its value: of JSON the value, of other accepted types the text. An optional
    one that is not there counts as an empty object."""
    settings = call.server.settings
    raw = await read_body(
        call.scope, call.receive, settings.request_bytes_max, settings.request_body_seconds_max
    )
    if not raw and is_optional:
        return raw, NO_BODY
    kind = media_type(call.scope)
    if kind not in body_types:
        raise UnsupportedMediaTypeError(
            f"Send the body as Content-Type: {' or '.join(body_types)}."
        )
    if kind == JSON_TYPE:
        return raw, parse_json(raw)
    try:
        return raw, raw.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedRequestError("The body is not UTF-8.") from None


async def _run(
    call: Call, rules: WriteRules, make: Make, raw: bytes, value: Json, claim: Claim | None
) -> Outcome:
    if rules.check is not None:
        check = rules.check
        await call.read(lambda connection: check(connection, call))
    write = Write(call, raw, value, expected_version(call) if rules.is_conditional else None)
    origin = origin_of(call.scope, call.caller)
    command = await make(write)
    if write.message is not None:
        origin = replace(origin, message=write.message)
    request = CommandRequest(
        kb_id=call.kb.kb_id,
        caller=call.caller,
        command=command,
        origin=origin,
        claim=claim,
        dry_run=write.is_dry_run,
        scopes=frozenset(write.scopes),
    )
    try:
        outcome = await asyncio.wrap_future(call.server.services.commands.execute(request))
    except ConflictError as conflict:
        raise await enrich(call, command, conflict) from None
    if write.is_dry_run:
        # The revision that it names was never committed: what it is about is at the head.
        return replace(outcome, revision=(await head_of(call)).revision)
    call.server.heads.moved(call.kb.kb_id, outcome.revision)
    return outcome


def needs(role: Role, action: str, target: Target = "page") -> Check:
    """The check that the caller sees what the address names and has the role on its scope.

    `action` starts the refusal: "Editing a page". It raises NotFoundError or RoleTooWeakError,
    in the words of the rules.
    """

    def check(connection: Connection, call: Call) -> None:
        with connection.reading():
            snapshot = open_snapshot(connection, call.kb.kb_id, call.caller)
            snapshot.access.require(role, _scope_of(call, snapshot, target), action)

    return check


def _scope_of(call: Call, snapshot: Snapshot, target: Target) -> str:
    if target == "note":
        return standing(snapshot, note(snapshot, id_of(call, "noteId", "note")).page).scope
    page_id = page_id_of(call)
    try:
        return standing(snapshot, page_id).scope
    except NotFoundError:
        row = last_row(snapshot, page_id) if target == "restorable" else None
        if row is None or not snapshot.access.can_read_deleted(row.scope_now):
            raise
        return row.scope_now


async def _rendered(call: Call, rules: WriteRules, outcome: Outcome) -> Answer:
    """The answer read at the revision of the outcome, under today's access."""

    def render(connection: Connection) -> Answer:
        with connection.reading():
            snapshot = open_snapshot(connection, call.kb.kb_id, call.caller, outcome.revision)
            return rules.render(call, State(snapshot), outcome)

    return await call.read(render)
