"""`docs/reference/http.md` lists every route there is, and no other."""

import re
from pathlib import Path

from markdown_it import MarkdownIt

from api.batches import OperationBody
from api.operations import KB_PATH
from api.routes.registry import OPERATIONS

PAGE = Path(__file__).parents[2] / "docs/reference/http.md"
ROW = re.compile(r"\| `(GET|POST|PUT|PATCH|DELETE)` \| `([^`]+)` \| `([^`]+)` \| (.+) \|")
OPERATION_ROW = re.compile(r"\| `(\w+)` \| (`.+`) \|")


def rows() -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(PAGE.read_text("utf-8"))
    spans = [token.map for token in tokens if token.type == "tr_open" and token.map]
    lines = PAGE.read_text("utf-8").splitlines()
    return [lines[start] for start, _ in spans]


def test_every_route_is_documented_and_every_documented_route_exists() -> None:
    documented = [match.groups() for row in rows() if (match := ROW.fullmatch(row))]
    real = [
        (
            operation.method,
            operation.path.replace(KB_PATH, "..."),
            operation.name,
            operation.summary,
        )
        for operation in OPERATIONS
    ]
    assert documented == real


def test_every_operation_of_a_commit_is_documented_with_its_fields() -> None:
    documented = {
        match[1]: {field.strip("`?") for field in match[2].split(", ")}
        for row in rows()
        if (match := OPERATION_ROW.fullmatch(row))
    }
    real = {
        str(kind.__struct_config__.tag): set(kind.__struct_encode_fields__)
        for kind in leaves(OperationBody)
    }
    assert documented == real


def leaves(kind: type[OperationBody]) -> list[type[OperationBody]]:
    below = kind.__subclasses__()
    return [kind] if not below else [leaf for inner in below for leaf in leaves(inner)]
