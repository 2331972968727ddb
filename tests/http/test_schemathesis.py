"""The served contract, held against the server by generated requests.

No request may meet a defect, and every answer has to be in the contract: status, content
type, headers and shape.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.operations import Operation
from api.routes.registry import OPERATIONS, contract
from api.settings import Settings
from kbstore.ids import parse_uuid
from tests.backends import Databases
from tests.http.hooks import hook
from tests.http.world import World, create, served_world

WEBHOOK: dict[str, Any] = {"url": "https://receiver.invalid/", "types": ["knowledge_base.created"]}
"""Of this type no event comes any more: nothing is sent."""

AnyCase: TypeAlias = schemathesis.Case[Any]

# What does not end is asked for by tests of its own.
ENDING = [operation for operation in OPERATIONS if not operation.is_stream]
schema = schemathesis.openapi.from_dict(json.loads(contract())).exclude(
    operation_id=[operation.name for operation in OPERATIONS if operation.is_stream]
)


def meets_no_defect(
    context: schemathesis.CheckContext, response: schemathesis.Response, case: AnyCase
) -> bool | None:
    """No 5xx, but for the one that answers a `minRevision` nobody has written yet."""
    if response.status_code >= 500:
        assert response.json()["error"]["code"] == "PROJECTION_BEHIND"
        assert response.status_code == 503
        assert response.headers["retry-after"]
    return None


CHECKS = [
    meets_no_defect,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/toml")
def send_toml(context: schemathesis.SerializationContext, value: object) -> bytes:
    """Generated text is seldom TOML, which is the point."""
    return str(value).encode("utf-8", "replace")


class Target:
    """Where generated requests go, and what is there for them to find."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: set[str] = set()
        self.answered: set[str] = set()
        self.token = world.token("org:acme", "team:acme:sales", grants=("admin", "auditor"))
        self.weak_token = world.token("team:acme:support", principal="user:weak")
        owner = world.client("org:acme", "team:acme:sales")
        pages = [create(owner, f"Page {n}", key=f"page-{n}", body=f"# P{n}\n") for n in range(4)]
        notes = [
            owner.post(
                f"/pages/{pages[0]['id']}/notes", json={"text": "A fact", "scope": ["org:acme"]}
            ).json()["note"]
            for _ in range(3)
        ]
        self.ids = {
            "pageId": [page["id"] for page in pages],
            "noteId": [note["id"] for note in notes],
            "webhookId": [hook(owner, **WEBHOOK)["id"] for _ in range(3)],
        }

    def lead(self, case: AnyCase) -> None:
        """Half of the generated ids and scopes become such as exist."""
        case.path_parameters["kb"] = self.world.slug
        for name, known in self.ids.items():
            given = parse_uuid(str(case.path_parameters.get(name)))
            if given is not None and given.int % 2:
                case.path_parameters[name] = known[given.int // 2 % len(known)]
        if isinstance(case.body, dict):
            scope = case.body.get("scope")
            if isinstance(scope, str) and len(scope) % 2:
                case.body["scope"] = "org:acme"
            if isinstance(scope, list) and len(scope) % 2:
                case.body["scope"] = ["org:acme"]
            url = case.body.get("url")
            if isinstance(url, str) and len(url) % 2:
                case.body = {**WEBHOOK}


@pytest.fixture(scope="module")
def target(databases_of: Callable[[str], Databases]) -> Iterator[Target]:
    quick = Settings(min_revision_wait_seconds_max=0.02)
    with databases_of("sqlite").lent() as url, served_world(url, quick) as world:
        yield Target(world)


def test_the_served_document_is_the_one_under_test(target: Target) -> None:
    served = httpx.get(f"{target.world.url}/openapi/v2/openapi.json")
    assert served.status_code == 200
    assert served.content == contract()
    assert len([*schema.get_all_operations()]) == len(ENDING)


def bounded(examples: int) -> settings:
    return settings(
        max_examples=examples,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
            HealthCheck.filter_too_much,
        ],
    )


def keeps_the_contract(case: AnyCase, target: Target, token: str) -> None:
    target.lead(case)
    response = case.call_and_validate(
        base_url=target.world.url,
        headers={"Authorization": f"Bearer {token}"},
        checks=CHECKS,
    )
    target.asked.add(f"{case.method} {case.path}")
    if response.status_code < 300:
        target.answered.add(f"{case.method} {case.path}")


def kept_by(operation: Operation, examples: int, *, is_weak: bool) -> Callable[..., None]:
    """A test of one operation. Those that schemathesis makes of a whole schema share one id, and
    of tests with one id several workers run one."""

    @schema.include(operation_id=operation.name).parametrize()
    @bounded(examples)
    def test(case: AnyCase, target: Target) -> None:
        keeps_the_contract(case, target, target.weak_token if is_weak else target.token)

    found: Callable[..., None] = test
    return found


# The weak key owns one team and sees nothing of what the ids lead to.
for _operation in ENDING:
    _name = f"{_operation.name}_keeps_the_contract"
    globals()[f"test_{_name}"] = kept_by(_operation, 25, is_weak=False)
    globals()[f"test_{_name}_for_a_weak_key"] = kept_by(_operation, 15, is_weak=True)
    globals()[f"test_{_name}_for_long"] = pytest.mark.soak(
        kept_by(_operation, 1_000, is_weak=False)
    )
    globals()[f"test_{_name}_for_a_weak_key_for_long"] = pytest.mark.soak(
        kept_by(_operation, 500, is_weak=True)
    )


def test_most_routes_were_reached(target: Target) -> None:
    """Requests that are all refused would prove little."""
    if len(target.asked) < len(ENDING):
        pytest.skip("not every route was tested in this run")
    assert len(target.answered) >= len(ENDING) * 0.7, target.asked - target.answered
