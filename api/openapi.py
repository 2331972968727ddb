"""The OpenAPI 3.1 document, rendered from the operations themselves."""

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct

from api.bodies import NoBody
from api.operations import Operation
from api.representations import ErrorAnswer
from api.streams import MEDIA_TYPE
from api.writing import JSON_TYPE
from kbstore.limits import (
    COMMIT_MESSAGE_CODE_POINTS_MAX,
    IDEMPOTENCY_KEY_CODE_POINTS_MAX,
    REVISION_MAX,
    RUN_CODE_POINTS_MAX,
    TOOL_CALL_CODE_POINTS_MAX,
)

Schema: TypeAlias = dict[str, object]

TEMPLATE = "#/components/schemas/{name}"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PATH_SCHEMAS: dict[str, Schema] = {
    "kb": {"type": "string", "description": "knowledge-base-<uuid>, or the slug"},
    "pageId": {"type": "string", "format": "uuid"},
    "noteId": {"type": "string", "format": "uuid"},
    "kind": {"type": "string", "enum": ["page", "list"]},
    "revision": {"type": "integer", "minimum": 1, "maximum": REVISION_MAX},
    "webhookId": {"type": "string", "format": "uuid"},
    "position": {"type": "integer", "minimum": 1, "maximum": REVISION_MAX},
}
_STRING: Schema = {"type": "string"}
_CALL_HEADERS = {"KB-Scopes": "Scope addresses, parted by commas: narrows the scopes held"}
_CLAIM_HEADERS = {
    "Idempotency-Key": ("Makes it safe to send again", IDEMPOTENCY_KEY_CODE_POINTS_MAX),
}
_COMMIT_HEADERS = {
    "KB-Run": ("The run, for the commit", RUN_CODE_POINTS_MAX),
    "KB-Tool-Call": ("The tool call, for the commit", TOOL_CALL_CODE_POINTS_MAX),
    "KB-Message": ("A message, for the commit", COMMIT_MESSAGE_CODE_POINTS_MAX),
}
_STATUS_WORDS = {
    200: "As asked",
    201: "Created",
    202: "Will be done",
    204: "Done",
    304: "Nothing changed since `If-None-Match`",
}


def openapi_document(operations: Iterable[Operation], version: str) -> Schema:
    """The whole contract, as JSON values."""
    operations = tuple(operations)
    paths: dict[str, Schema] = {}
    for operation in operations:
        path = paths.setdefault(operation.path, {})
        path[operation.method.lower()] = _described(operation)
    _, schemas = msgspec.json.schema_components(_structs(operations), ref_template=TEMPLATE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kbstore",
            "version": version,
            "description": "An event-sourced knowledge store with a versioned write API.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "kbs_<id>_<secret>"}
            },
        },
    }


def _structs(operations: Iterable[Operation]) -> list[type[Struct]]:
    found: dict[type[Struct], None] = {ErrorAnswer: None}
    for operation in operations:
        if operation.body is not None and not operation.body.is_open:
            found[operation.body] = None
        found.update({answer: None for answer in operation.answers.values() if answer})
    return list(found)


def _described(operation: Operation) -> Schema:
    described: Schema = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_path(operation), *_query(operation), *_headers(operation)],
        "responses": {**_answers(operation), **_refusals(operation)},
        "security": [{"key": []}] if operation.needs_key else [],
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": not is_body_optional(operation),
            "content": {kind: {"schema": _body(operation, kind)} for kind in _types(operation)},
        }
    return described


def _path(operation: Operation) -> Iterator[Schema]:
    for name in _PLACEHOLDER.findall(operation.path):
        yield {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}


def _query(operation: Operation) -> Iterator[Schema]:
    """The query parameters; null stands for one that is not sent, so it is no value of it."""
    (_,), schemas = msgspec.json.schema_components([operation.parameters])
    schema = schemas[operation.parameters.__name__]
    required = schema.get("required", [])
    for name, value in schema["properties"].items():
        kinds = value.pop("anyOf", None)
        if kinds is not None:
            value.update(next(kind for kind in kinds if kind != {"type": "null"}))
        if value.get("default", 0) is None:
            del value["default"]
        yield {"name": name, "in": "query", "required": name in required, "schema": value}


def _headers(operation: Operation) -> Iterator[Schema]:
    if operation.needs_key:
        for name, description in _CALL_HEADERS.items():
            yield _header(name, description, _STRING)
    if operation.is_stream:
        yield _header("Last-Event-ID", "The position of the last event seen", _STRING)
        return
    if operation.needs_key and operation.method == "GET":
        yield _header("If-None-Match", "The ETag of an answer that is kept", _STRING)
    for name, (description, length) in _told_headers(operation).items():
        yield _header(name, description, {"type": "string", "maxLength": length})
    if operation.rules is not None and operation.rules.is_conditional:
        pattern = r'^(\*|"[0-9]{1,15}(-[!#-~]*)?")$'
        yield _header(
            "If-Match",
            'The version that is changed: "3", the whole ETag, or * for any',
            {"type": "string", "pattern": pattern},
            required=True,
        )


def _told_headers(operation: Operation) -> dict[str, tuple[str, int]]:
    return {
        **(_CLAIM_HEADERS if operation.takes_claim else {}),
        **(_COMMIT_HEADERS if operation.commits else {}),
    }


def _header(name: str, description: str, schema: Schema, *, required: bool = False) -> Schema:
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": schema,
    }


def is_body_optional(operation: Operation) -> bool:
    """Whether the operation can be asked for without a body."""
    if operation.rules is not None:
        return operation.rules.is_body_optional
    return operation.is_tool or operation.body in (None, NoBody)


def _types(operation: Operation) -> tuple[str, ...]:
    return (JSON_TYPE,) if operation.rules is None else operation.rules.body_types


def _body(operation: Operation, kind: str) -> Schema:
    if kind != JSON_TYPE:
        return _STRING
    if operation.body is None or operation.body.is_open:
        return {"type": "object"}
    return _reference(operation.body)


def _answers(operation: Operation) -> dict[str, Schema]:
    answers: dict[str, Schema] = {}
    for status, kind in operation.answers.items():
        answer: Schema = {"description": _STATUS_WORDS[status], "headers": _told(operation)}
        if kind is not None:
            answer["content"] = {"application/json": {"schema": _reference(kind)}}
        elif operation.is_stream:
            answer["content"] = {MEDIA_TYPE: {"schema": _STRING}}
        elif status not in (204, 304):
            answer["content"] = {"application/json": {"schema": {"type": "object"}}}
        answers[str(status)] = answer
    return answers


def _told(operation: Operation) -> Schema:
    told = ["x-request-id"]
    is_read = operation.needs_key and operation.method == "GET"
    if is_read or operation.commits or operation.is_tool:
        told.append("KB-Revision")
    if is_read:
        told.append("ETag")
    return {name: {"schema": _STRING} for name in told}


def _refusals(operation: Operation) -> dict[str, Schema]:
    """One answer a status, which names its codes."""
    by_status: dict[int, set[str]] = {}
    for error in operation.errors:
        by_status.setdefault(error.http_status, set()).add(error.code)
    return {
        str(status): {
            "description": ", ".join(f"`{code}`" for code in sorted(codes)),
            "headers": {"x-request-id": {"schema": _STRING}},
            "content": {"application/json": {"schema": _reference(ErrorAnswer)}},
        }
        for status, codes in sorted(by_status.items())
    }


def _reference(kind: type[Struct]) -> Schema:
    return {"$ref": TEMPLATE.format(name=kind.__name__)}
