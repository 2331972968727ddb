"""Operations: one entry a route, from which it is mounted, documented and tested.

An operation knows its address, what it takes and every answer it can give. `reads`, `writes`
and `changes` make one of a handler; `api.routes` collects them, `api.openapi` describes them.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from litestar.types import HTTPScope, Method, Receive
from msgspec import Struct
from msgspec.structs import replace

from api.answers import Answer
from api.bodies import Body, NoBody, refuse_repeated_names
from api.calls import KB_ROOT, Call, Server, open_call
from api.parameters import Parameters, parse_parameters
from api.reading import conditional
from api.repeats import Kept
from api.streams import Frames, Stream
from api.write import Write
from api.writing import WriteRules, answer_write, read_value
from kbstore.domain.commands import Command
from kbstore.errors import (
    DatabaseUnavailableError,
    IdempotencyInProgressError,
    IdempotencyKeyReusedError,
    InternalError,
    KBStoreError,
    MalformedRequestError,
    NotFoundError,
    OverloadedError,
    PreconditionRequiredError,
    ProjectionBehindError,
    RequestTimeoutError,
    RequestTooLargeError,
    RevisionNotReachedError,
    RevisionNotRetainedError,
    StaleCursorError,
    UnauthenticatedError,
    UnsupportedMediaTypeError,
    ValidationError,
    VersionConflictError,
)
from projections.views import Json

P = TypeVar("P", bound=Parameters)
B = TypeVar("B", bound=Body)
Errors = tuple[type[KBStoreError], ...]
Reopened = Callable[[], Awaitable[Call]]

KB_PATH = KB_ROOT + "{kb}"

ALWAYS: Errors = (MalformedRequestError, DatabaseUnavailableError, InternalError)
OF_CALLS: Errors = (*ALWAYS, UnauthenticatedError, NotFoundError, ValidationError)
OF_READS: Errors = (
    *OF_CALLS,
    RevisionNotReachedError,
    RevisionNotRetainedError,
    ProjectionBehindError,
    OverloadedError,
)
OF_CHANGES: Errors = (
    *OF_CALLS,
    RequestTooLargeError,
    RequestTimeoutError,
    UnsupportedMediaTypeError,
    OverloadedError,
)
OF_CLAIMS: Errors = (IdempotencyKeyReusedError, IdempotencyInProgressError)
OF_WRITES: Errors = (*OF_CHANGES, *OF_CLAIMS)


class Operation(Struct, frozen=True, kw_only=True):
    """A route. `answers` gives the shape of each status below 400, `errors` all above.

    `body` is that of a write or a change, `rules` those of a write. `commits`: it may make a
    commit, which records the `KB-` headers. `takes_claim`: it can be sent again with an
    `Idempotency-Key`.
    """

    name: str
    method: Method
    path: str
    summary: str
    parameters: type[Parameters] = Parameters
    body: type[Body] | None = None
    rules: WriteRules | None = None
    answers: dict[int, type[Struct] | None]
    errors: Errors
    needs_key: bool = True
    commits: bool = False
    takes_claim: bool = False
    is_tool: bool = False
    is_stream: bool = False
    respond: Callable[[Server, HTTPScope, Receive], Awaitable[Answer | Stream]]


def reads(
    name: str,
    path: str,
    summary: str,
    *,
    parameters: type[P],
    answer: type[Struct],
    errors: Errors = (),
    is_list: bool = False,
    is_of_commits: bool = True,
) -> Callable[[Callable[[Call, P], Awaitable[Answer]]], Operation]:
    """Makes an operation of a handler that reads.

    An answer that is not of commits alone is read from the database itself each time.
    """

    def make(handler: Callable[[Call, P], Awaitable[Answer]]) -> Operation:
        async def respond(server: Server, scope: HTTPScope, receive: Receive) -> Answer:
            repeats = server.repeats
            key = await repeats.key(scope)
            kept = repeats.answer(key) if is_of_commits else None
            if kept is None:
                call = await open_call(server, scope, receive, key)
                if not is_of_commits:
                    call = replace(call, head=None)
                given = parse_parameters(scope["query_string"], parameters)
                kept = Kept(await handler(call, given), scope["state"]["logged"])
                if is_of_commits:
                    repeats.keep(key, kept)
            scope["state"]["logged"] = kept.logged
            return conditional(scope, kept.answer)

        return Operation(
            name=name,
            method="GET",
            path=KB_PATH + path,
            summary=summary,
            parameters=parameters,
            answers={200: answer, 304: None},
            errors=(*OF_READS, *errors, *((StaleCursorError,) if is_list else ())),
            respond=respond,
        )

    return make


def streams(
    name: str, path: str, summary: str, *, parameters: type[P], errors: Errors = ()
) -> Callable[[Callable[[Call, P, Reopened], Awaitable[Frames]]], Operation]:
    """Makes an operation of a handler that goes on answering.

    What it refuses at once is refused before the stream begins. Its frames get the call opened
    anew, with today's key, as often as they ask.
    """

    def make(handler: Callable[[Call, P, Reopened], Awaitable[Frames]]) -> Operation:
        async def respond(server: Server, scope: HTTPScope, receive: Receive) -> Stream:
            async def reopened() -> Call:
                return await open_call(server, scope, receive, await server.repeats.key(scope))

            call = await reopened()
            given = parse_parameters(scope["query_string"], parameters)
            return server.streams.open(await handler(call, given, reopened))

        return Operation(
            name=name,
            method="GET",
            path=KB_PATH + path,
            summary=summary,
            parameters=parameters,
            answers={200: None},
            errors=(*OF_CALLS, OverloadedError, *errors),
            is_stream=True,
            respond=respond,
        )

    return make


def writes(
    name: str,
    method: Method,
    path: str,
    summary: str,
    *,
    parameters: type[P],
    body: type[B],
    answer: type[Struct],
    rules: WriteRules,
    creates: bool = False,
    errors: Errors = (),
) -> Callable[[Callable[[Write, P, B], Awaitable[Command]]], Operation]:
    """Makes an operation of a handler that turns a request into a command.

    The handler runs once `rules` are kept. A body that is not JSON is for it to read.
    """

    def make(handler: Callable[[Write, P, B], Awaitable[Command]]) -> Operation:
        async def respond(server: Server, scope: HTTPScope, receive: Receive) -> Answer:
            async def command_of(write: Write) -> Command:
                given = parse_parameters(scope["query_string"], parameters)
                # An open body is read again by its handler, which names what stands twice.
                if not body.is_open:
                    refuse_repeated_names(write.raw)
                return await handler(write, given, body.of(write.value))

            call = await open_call(server, scope, receive, await server.repeats.key(scope))
            return await answer_write(call, rules, command_of)

        conditional: Errors = (PreconditionRequiredError, VersionConflictError)
        return Operation(
            name=name,
            method=method,
            path=KB_PATH + path,
            summary=summary,
            parameters=parameters,
            body=body,
            rules=rules,
            commits=True,
            takes_claim=True,
            answers={200: answer, 201: answer} if creates else {200: answer},
            errors=(*OF_WRITES, *errors, *(conditional if rules.is_conditional else ())),
            respond=respond,
        )

    return make


class Change(Struct, frozen=True):
    """A request that changes what is no part of any revision; `value` is its body."""

    call: Call
    value: Json


def changes(
    name: str,
    method: Method,
    path: str,
    summary: str,
    *,
    parameters: type[P],
    body: type[B],
    answers: dict[int, type[Struct] | None],
    takes_claim: bool = False,
    errors: Errors = (),
) -> Callable[[Callable[[Change, P, B], Awaitable[Answer]]], Operation]:
    """Makes an operation of a handler that changes what is no part of any revision, so that
    there is neither a command nor a commit."""

    def make(handler: Callable[[Change, P, B], Awaitable[Answer]]) -> Operation:
        async def respond(server: Server, scope: HTTPScope, receive: Receive) -> Answer:
            call = await open_call(server, scope, receive, await server.repeats.key(scope))
            raw, value = await read_value(call, is_optional=body is NoBody)
            given = parse_parameters(scope["query_string"], parameters)
            refuse_repeated_names(raw)
            return await handler(Change(call, value), given, body.of(value))

        return Operation(
            name=name,
            method=method,
            path=KB_PATH + path,
            summary=summary,
            parameters=parameters,
            body=body,
            takes_claim=takes_claim,
            answers=answers,
            errors=(*OF_CHANGES, *(OF_CLAIMS if takes_claim else ()), *errors),
            respond=respond,
        )

    return make


def opens(
    name: str, path: str, summary: str, *, answer: type[Struct] | None, errors: Errors = ()
) -> Callable[[Callable[[Server], Awaitable[Answer]]], Operation]:
    """Makes an operation of a handler that answers whoever asks, without a key."""

    def make(handler: Callable[[Server], Awaitable[Answer]]) -> Operation:
        async def respond(server: Server, scope: HTTPScope, receive: Receive) -> Answer:
            parse_parameters(scope["query_string"], Parameters)
            return await handler(server)

        return Operation(
            name=name,
            method="GET",
            path=path,
            summary=summary,
            answers={200: answer},
            errors=(*ALWAYS, ValidationError, *errors),
            needs_key=False,
            respond=respond,
        )

    return make
