"""What a tool is, and the two ways to make one: of a query, and of a command."""

from collections.abc import Awaitable, Callable
from functools import cache, cached_property, partial
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from api.answers import NO_CACHE, Answer, encode
from api.bodies import Body
from api.calls import Call
from api.cursors import Signer, place_in
from api.idempotency import claim_for
from api.parameters import AtRevision, Revision, Time
from api.reading import Moment, State, await_revision, in_snapshot, moment_of
from api.tools.failures import tell_conflict
from api.tools.knowledge.caps import read_cap
from api.write import Write
from api.writing import WriteRules, answer_claimed
from kbstore.domain.commands import Command
from kbstore.errors import KBStoreError, RunScopesMissingError, VersionConflictError
from kbstore.service import Outcome
from kbstore.store.connection import Connection
from projections.snapshot import Snapshot, open_snapshot
from projections.views import Json, View

A = TypeVar("A", bound="Arguments")
R = TypeVar("R", bound="Result")
Schema = dict[str, Json]
Group = Literal["read", "write", "pins"]


class Arguments(Body, frozen=True, kw_only=True):
    """What a tool takes."""


class ReadArguments(Arguments, frozen=True, kw_only=True):
    """Which state a tool that reads shows: a revision, or the last one at or before a time,
    else the newest, which `minRevision` waits for."""

    revision: Revision | None = None
    as_of: Time | None = None
    min_revision: Revision | None = None

    @property
    def at(self) -> AtRevision:
        return AtRevision(revision=self.revision, as_of=self.as_of, min_revision=self.min_revision)

    def check(self) -> None:
        """Raises ValidationError for arguments that exclude each other."""

    @property
    def resumed(self) -> str | None:
        """The cursor by which a list goes on, and its revision with it; None for a new one."""
        return None


class Result(View, frozen=True, kw_only=True):
    """What a tool answers: the revision it shows or made, and more."""

    revision: int


class Annotations(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a client may tell its user of a tool. None reaches beyond its knowledge base."""

    title: str
    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: bool = False


class Reading(Struct, frozen=True):
    """The state a query reads, and the call it is for."""

    call: Call
    state: State
    moment: Moment

    @property
    def snapshot(self) -> Snapshot:
        return self.state.snapshot

    def signer(self, operation: str, *shape: int | str | bool | None) -> Signer:
        """Of the cursors of a list within a tool's answer."""
        return Signer(self.call.kb, operation, self.call.caller, shape)


class Tool(Struct, frozen=True, kw_only=True, dict=True):
    """A tool. `respond` takes the arguments as JSON came in, raw and parsed, and raises
    KBStoreError; its Answer is what HTTP sends and MCP quotes."""

    name: str
    group: Group
    description: str
    arguments: type[Arguments]
    result: type[Result]
    annotations: Annotations
    errors: tuple[type[KBStoreError], ...]
    respond: Callable[[Call, bytes, Json], Awaitable[Answer]]

    @property
    def is_read(self) -> bool:
        return self.annotations.read_only_hint

    @cached_property
    def input_schema(self) -> Schema:
        """JSON Schema of the arguments, whole in itself."""
        return schema_of(self.arguments)

    @cached_property
    def output_schema(self) -> Schema:
        return schema_of(self.result)


def schema_of(kind: type[Struct]) -> Schema:
    """The JSON Schema of a Struct, an object at its root."""
    schema = msgspec.json.schema(kind)
    definitions = schema.pop("$defs")
    root = definitions.pop(schema.pop("$ref").removeprefix("#/$defs/"))
    return {**root, **({"$defs": definitions} if definitions else {})}


def reads(
    name: str,
    title: str,
    description: str,
    *,
    arguments: type[A],
    result: type[R],
    errors: tuple[type[KBStoreError], ...] = (),
) -> Callable[[Callable[[Reading, A], R]], Tool]:
    """Makes a tool of a query. It runs beside the event loop, in one snapshot."""

    def make(query: Callable[[Reading, A], R]) -> Tool:
        async def respond(call: Call, raw: bytes, value: Json) -> Answer:
            require_run_scopes(call)
            given = arguments.of(value)
            assert isinstance(given, ReadArguments)
            given.check()
            moment = await moment_of(call, given.at)
            if given.resumed is not None and moment == Moment():
                place = place_in(call.kb, given.resumed)
                moment = Moment(revision=place.revision) if place.is_pinned else moment
            await await_revision(call, given.min_revision)

            def answer(state: State) -> Answer:
                return tool_answer(query(Reading(call, state, moment), given))

            return await call.read_anywhere(
                lambda connection: in_snapshot(connection, call, moment, answer),
                min_revision=given.min_revision,
                is_long=True,
            )

        return Tool(
            name=name,
            group="read",
            description=description,
            arguments=arguments,
            result=result,
            annotations=Annotations(
                title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True
            ),
            errors=errors,
            respond=respond,
        )

    return make


def writes(
    name: str,
    title: str,
    description: str,
    *,
    group: Group,
    arguments: type[A],
    result: type[R],
    render: Callable[[State, Outcome, A], R],
    destructive: bool,
    idempotent: bool = False,
    errors: tuple[type[KBStoreError], ...] = (),
) -> Callable[[Callable[[Write, A], Awaitable[Command]]], Tool]:
    """Makes a tool of a function that turns arguments into a command.

    `render` reads what is answered at the revision of the outcome, of the first try too."""

    def make(plan: Callable[[Write, A], Awaitable[Command]]) -> Tool:
        async def respond(call: Call, raw: bytes, value: Json) -> Answer:
            require_run_scopes(call)
            # Not before the claim was looked up, and then once.
            arguments_of = cache(lambda: arguments.of(value))

            async def command_of(write: Write) -> Command:
                return await plan(write, arguments_of())

            def answer(call: Call, state: State, outcome: Outcome) -> Answer:
                replayed = ((b"idempotency-replayed", b"true"),) if outcome.replayed else ()
                return tool_answer(render(state, outcome, arguments_of()), replayed)

            claim = claim_for(call, value, "POST", f"/tools/{name}", b"")
            try:
                return await answer_claimed(
                    call, WriteRules(render=answer), command_of, raw, value, claim
                )
            except VersionConflictError as conflict:
                raise tell_conflict(conflict, await call.read(partial(_read_cap, call))) from None

        return Tool(
            name=name,
            group=group,
            description=description,
            arguments=arguments,
            result=result,
            annotations=Annotations(
                title=title,
                read_only_hint=False,
                destructive_hint=destructive,
                idempotent_hint=idempotent,
            ),
            errors=errors,
            respond=respond,
        )

    return make


def require_run_scopes(call: Call) -> None:
    """Raises RunScopesMissingError for a run without scopes; an auditor needs none."""
    if not call.caller.held and not call.caller.is_auditor:
        raise RunScopesMissingError(
            "Knowledge tools need run scopes: give the agent or the call `scopes`, "
            "or run it with Memory."
        )


def _read_cap(call: Call, connection: Connection) -> int:
    with connection.reading():
        return read_cap(open_snapshot(connection, call.kb.kb_id, call.caller))


def tool_answer(result: Result, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """The encoded answer of a tool."""
    revision = (b"kb-revision", b"%d" % result.revision)
    return Answer(200, encode(result), (revision, NO_CACHE, *headers))
