"""What is asked of the tools that read."""

from collections.abc import Iterator
from typing import cast

from tests.noninterference.asking import Ask, Place, Value
from tests.noninterference.house import OPEN, VAULT
from tests.noninterference.registry import tool_probes
from tests.noninterference.sight import NEVER, Sight
from tests.noninterference.story import INTERLUDE, KEYS, NAMES, WORDS

Arguments = dict[str, Value]


def call(tool: str, arguments: Arguments, follows: tuple[str, str] | None = None) -> Ask:
    return Ask(tool, "POST", f"/tools/{tool}", body=arguments, follows=follows)


def references(sight: Sight) -> list[str]:
    """By id, by path and by name; of what is seen, what is hidden, and what never was."""
    found = [str(page) for page in sight.page_ids(1)]
    found += [sight.ref_of(page) for page in sight.draw.some(sight.seen, 2)]
    found += sight.any_refs(1)
    found += [sight.draw.pick(NAMES), INTERLUDE]
    return found


@tool_probes("knowledge_list")
def knowledge_list(sight: Sight) -> Iterator[Ask]:
    follows = ("nextCursor", "cursor")
    yield call("knowledge_list", {"descriptions": True, **sight.when()})
    yield call("knowledge_list", {"limit": 2, "depth": 2}, follows)
    for reference in [sight.draw.pick(OPEN), *sight.draw.some(references(sight), 2)]:
        depth = sight.draw.number(1, 3)
        yield call("knowledge_list", {"from": reference, "depth": depth, **sight.when()}, follows)


@tool_probes("knowledge_search")
def knowledge_search(sight: Sight) -> Iterator[Ask]:
    for count in (1, 2):
        query = " ".join(sight.draw.some((*WORDS, *NAMES), count))
        arguments: Arguments = {"query": query, "limit": 50, **sight.when()}
        if sight.draw.chance(30):
            arguments["scope"] = [sight.draw.pick((*OPEN, VAULT))]
        yield call("knowledge_search", arguments)
    yield call("knowledge_search", {"query": "amber", "limit": sight.draw.number(1, 5)})


@tool_probes("knowledge_read")
def knowledge_read(sight: Sight) -> Iterator[Ask]:
    yield call("knowledge_read", {})
    # A name that is nearly one is answered with those that are close.
    wrong = [f"{name}{sight.draw.pick('sx')}" for name in (sight.draw.pick(NAMES), INTERLUDE)]
    for reference in [*references(sight), *wrong, f"org:acme#{sight.draw.pick(KEYS)}x"]:
        yield call("knowledge_read", {"page": reference, **sight.when()})
    for name in (INTERLUDE, *NAMES[:2]):
        yield call("knowledge_read", {"page": name, **sight.then()})
    for page in sight.draw.some(sight.famous(), 2):
        yield call("knowledge_read", {"page": str(page.id), "mentionedIn": True, **sight.then()})
    for page in sight.draw.some(sight.seen, 2):
        part = sight.draw.pick(("notes", "mentionedIn", "outline"))
        follows = {
            "notes": ("nextCursor", "cursor"),
            "mentionedIn": ("mentionedInCursor", "mentionedInCursor"),
        }.get(part)
        arguments: Arguments = {"page": str(page.id), part: True, **sight.when()}
        if follows is not None:
            arguments["limit"] = sight.draw.number(1, 2)
        yield call("knowledge_read", arguments, follows)


@tool_probes("knowledge_activity")
def knowledge_activity(sight: Sight) -> Iterator[Ask]:
    yield call("knowledge_activity", {"limit": 100, **sight.when()})
    place = Place(sight.draw.number(0, len(sight.told.plain.positions) - 1))
    yield call(
        "knowledge_activity",
        {"order": sight.draw.pick(("oldest", "newest")), "since": place, "limit": 3},
        ("cursor", "cursor"),
    )
    page = sight.draw.pick(references(sight))
    yield call("knowledge_activity", cast(Arguments, {"page": page}))
    yield call("knowledge_activity", {"page": str(NEVER)})
