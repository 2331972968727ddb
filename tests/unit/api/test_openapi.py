"""The contract: complete, and true to the registry."""

import json
from collections.abc import Iterator
from typing import Any

from api.operations import KB_PATH
from api.routes.registry import OPERATIONS, contract

DOCUMENT: Any = json.loads(contract())


def described() -> Iterator[tuple[Any, Any]]:
    for operation in OPERATIONS:
        yield operation, DOCUMENT["paths"][operation.path][operation.method.lower()]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_each_operation_is_there_once_under_its_own_name() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))
    assert len({(operation.method, operation.path) for operation in OPERATIONS}) == len(names)
    assert [description["operationId"] for _, description in described()] == names


def test_every_reference_leads_somewhere() -> None:
    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(references(DOCUMENT)) <= known


def test_each_answer_and_each_refusal_has_its_status() -> None:
    for operation, description in described():
        statuses = {str(status) for status in operation.answers}
        statuses |= {str(error.http_status) for error in operation.errors}
        assert set(description["responses"]) == statuses
        for error in operation.errors:
            assert error.code in description["responses"][str(error.http_status)]["description"]


def test_what_a_route_needs_is_required() -> None:
    for operation, description in described():
        required = {
            (parameter["in"], parameter["name"])
            for parameter in description["parameters"]
            if parameter["required"]
        }
        assert ("path", "kb") in required or not operation.path.startswith(KB_PATH)
        is_conditional = operation.rules is not None and operation.rules.is_conditional
        assert (("header", "If-Match") in required) == is_conditional
        assert bool(description["security"]) == operation.needs_key
        if operation.rules is not None and not operation.rules.is_body_optional:
            assert description["requestBody"]["required"] is True


def test_unknown_fields_and_limits_are_in_the_schemas() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["CreateBody"]["additionalProperties"] is False
    assert schemas["CreateBody"]["required"] == ["scope", "name"]
    assert schemas["CommitBody"]["properties"]["operations"]["maxItems"] == 500
    page = schemas["PageView"]
    assert "frontmatterError" in page["properties"]
    assert "frontmatterError" not in page["required"]


def test_a_parameter_that_was_not_sent_is_no_value() -> None:
    for _, description in described():
        for parameter in description["parameters"]:
            assert "anyOf" not in parameter["schema"]
            assert parameter["schema"].get("default", 0) is not None
