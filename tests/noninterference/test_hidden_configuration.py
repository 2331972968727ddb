"""A configuration that changes only what is declared of a hidden scope changes no answer."""

from pathlib import Path

import pytest

from kbstore.access import dump_configuration, load_configuration
from kbstore.domain.commands import Configure, CreatePage
from tests.noninterference.asking import Ask
from tests.noninterference.house import BEN, CONFIGURATION, GUILD, ORG, ROOT
from tests.noninterference.injected import START, STEP
from tests.noninterference.pairs import House, house_in
from tests.noninterference.plain import Plain, plain
from tests.noninterference.world import World

HELD = frozenset({"org-viewer:acme", GUILD})
OF_THE_VAULT = 'body = "Amber [[Handbook]]"'

ASKS = {
    "context": Ask("readContext", "GET", "/context"),
    "scopes": Ask("listScopes", "GET", "/scopes"),
    "search": Ask("search", "POST", "/tools/knowledge_search", body={"query": "what holds"}),
}


def told(world: World, *, again: bool) -> None:
    """A page beside a virtual one that a search finds as well; `again` configures the vault
    anew."""
    text = dump_configuration(load_configuration(CONFIGURATION, "toml"))
    vault = CONFIGURATION.replace(OF_THE_VAULT, 'body = "Other"')
    assert vault != CONFIGURATION
    other = dump_configuration(load_configuration(vault, "toml"))
    at = iter(range(START + STEP, START + 9 * STEP, STEP))
    world.run("1", next(at), ROOT, lambda w: Configure(configuration=w.text(text)))
    world.take_in()
    page = "Amber", "amber what holds"
    world.run(
        "2",
        next(at),
        BEN,
        lambda w: CreatePage(scope=ORG, key="x", name=w.text(page[0]), body=w.body(page[1])),
    )
    world.take_in()
    if again:
        world.run("3", next(at), ROOT, lambda w: Configure(configuration=w.text(other)))


def answers(house: House, ask: Ask, slug: str) -> list[Plain]:
    found = []
    for number, bench in enumerate(house.benches):
        bench.clock.micros = START
        world = World(bench, number, slug)
        told(world, again=number == 1)
        world.begin("ask", START + 9 * STEP)
        _, token = world.commands.catalogue.create_key(world.kb_id, "user:kim", HELD, frozenset())
        reply = house.runner.run(house.doors[number].ask(world, token, ask))
        assert reply.status == 200
        found.append(plain(world, reply))
    return found


@pytest.mark.parametrize("what", ASKS)
def test_what_is_declared_for_others_shows_nowhere(what: str, tmp_path: Path) -> None:
    with house_in(tmp_path) as house:
        before, after = answers(house, ASKS[what], what)
    assert before == after
