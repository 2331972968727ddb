"""A pair of worlds: told from a seed, asked the same, and held against each other."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from uuid import UUID

from kbstore.store.dead_letters import DeadLetter, insert_letter
from kbstore.store.webhooks import Progress, Webhook, insert_webhook
from tests.noninterference import probes_reads, probes_tools, probes_writes
from tests.noninterference.asking import Ask, Door, Reply, going_on
from tests.noninterference.hidden import Hidden
from tests.noninterference.house import draw_reader
from tests.noninterference.injected import START, STEP
from tests.noninterference.plain import plain
from tests.noninterference.registry import asks
from tests.noninterference.shared import Shared
from tests.noninterference.sight import Sight
from tests.noninterference.story import Draw, Told
from tests.noninterference.world import Bench, World, bench_at

PROBES = (probes_reads, probes_tools, probes_writes)
"""Imported for what they enter in the registry, in this order."""

STEPS_BOTH = 16
PARTS_WALKED_MAX = 12
LISTS = ("items", "results", "entries", "changes")


class Interference(AssertionError):
    """The reader can tell the worlds of a pair apart."""


class House:
    """Two databases in one process, behind an application each."""

    def __init__(self, plain: Bench, busy: Bench, runner: asyncio.Runner) -> None:
        self.benches = (plain, busy)
        self.runner = runner
        self.doors = runner.run(_doors(self.benches))

    def compare(self, seed: int, label: str = "") -> set[str]:
        """The operations that told something; Interference where the worlds can be told apart.

        A label makes other ids of the same story, so that nothing kept of one is met in another.
        """
        pair = Pair(self, seed, label)
        return self.runner.run(pair.compare())


async def _doors(benches: tuple[Bench, Bench]) -> tuple[Door, Door]:
    return Door(benches[0]), Door(benches[1])


@contextmanager
def house_in(folder: Path) -> Iterator[House]:
    with (
        bench_at(folder / "plain.db") as plain_bench,
        bench_at(folder / "busy.db") as busy_bench,
        asyncio.Runner() as runner,
    ):
        house = House(plain_bench, busy_bench, runner)
        try:
            yield house
        finally:
            for door in house.doors:
                runner.run(door.close())


class Pair:
    """The two worlds of a seed, and their reader's keys."""

    def __init__(self, house: House, seed: int, label: str) -> None:
        self._house = house
        self._seed = seed
        self._draw = Draw(f"pair {seed}")
        reader = draw_reader(self._draw.random)
        slug = f"pair-{seed}-{label}".strip("-").lower()
        for bench in house.benches:
            bench.clock.micros = START
        plain_world, busy_world = (
            World(bench, number, slug) for number, bench in enumerate(house.benches)
        )
        self.told = Told(f"both {seed}", plain_world, busy_world, reader)
        self._tell()
        self.sight = Sight(self.told, f"sight {seed}")
        self.tokens = [self._key(world) for world in self.told.worlds]
        self._asked = 0

    def _tell(self) -> None:
        told = self.told
        shared = Shared(told)
        alone = [Hidden(told, world, f"{self._seed} {world.number}") for world in told.worlds]
        # Only admins know of it, and it is in force for nothing that both have.
        if not told.reader.is_admin:
            alone[1].configure()
        shared.begin()
        # Half of the time one world has nothing hidden at all.
        chances = (0 if self._draw.chance(50) else 50, 90)
        for _ in range(STEPS_BOTH):
            shared.step()
            for hidden, chance in zip(alone, chances, strict=True):
                while self._draw.chance(chance * 2 // 3):
                    hidden.step()
        if self._draw.chance(70):
            shared.out_of_the_vault()
        for hidden in alone:
            hidden.end()

    def _key(self, world: World) -> str:
        """The reader's key, his webhook with letters that were not taken, and another's."""
        told = self.told
        end = START + (told.turn + 2) * STEP
        world.begin("key", end)
        catalogue, reader = world.commands.catalogue, told.reader
        mine, token = catalogue.create_key(world.kb_id, "user:kim", reader.held, reader.grants)
        other, _ = catalogue.create_key(world.kb_id, "user:lee", reader.held, frozenset())
        mine_id, other_id = world.bench.ids.new_id(), world.bench.ids.new_id()
        self._webhook(world, mine_id, mine.key_id, letters=3)
        self.sight.webhook = str(mine_id)
        # An admin sees the webhooks of all keys.
        if not reader.is_admin and world.number == 1:
            self._webhook(world, other_id, other.key_id, letters=2)
        self.sight.foreign_webhook = str(other_id)
        return token

    def _webhook(self, world: World, webhook_id: UUID, key_id: str, letters: int) -> None:
        webhook = Webhook(
            kb_id=world.kb_id,
            webhook_id=webhook_id,
            key_id=key_id,
            scopes=self.told.reader.held,
            url="https://hooks.example/kb",
            types=(),
            secret=b"s" * 32,
            created_at=START,
            progress=Progress(position=world.positions[5]),
        )
        with world.bench.services.database.connected() as connection, connection.writing():
            insert_webhook(connection, webhook)
            for position in world.positions[:letters]:
                letter = DeadLetter(
                    position=position,
                    attempts=1,
                    failed_at=START,
                    last_status=500,
                    last_error="status",
                )
                insert_letter(connection, world.kb_id, webhook_id, letter)

    # --- asking ---------------------------------------------------------------------------------

    async def compare(self) -> set[str]:
        informed: set[str] = set()
        for ask in asks(self.sight):
            replies = await self._both(ask, (ask, ask))
            if _tells(replies[0]):
                informed.add(ask.operation)
            if ask.follows is not None:
                await self._walk(ask, replies)
        return informed

    async def _walk(self, ask: Ask, replies: tuple[Reply, Reply]) -> None:
        """The rest of a list, part by part."""
        assert ask.follows is not None
        for _ in range(PARTS_WALKED_MAX):
            cursors = [_cursor(reply, ask.follows[0]) for reply in replies]
            if cursors[0] is None or cursors[1] is None:
                return
            replies = await self._both(ask, (going_on(ask, cursors[0]), going_on(ask, cursors[1])))

    async def _both(self, ask: Ask, sent: tuple[Ask, Ask]) -> tuple[Reply, Reply]:
        """The answers of both worlds; Interference where they differ."""
        self._asked += 1
        replies = []
        for world, door, token, each in zip(
            self.told.worlds, self._house.doors, self.tokens, sent, strict=True
        ):
            micros = START + (self.told.turn + 2 + self._asked) * STEP
            world.begin(f"ask {self._asked}", micros)
            head = world.head
            replies.append(await door.ask(world, token, each))
            if world.head > head:
                # What the reader wrote is something that both have.
                world.take_in()
        first, second = (
            plain(world, reply) for world, reply in zip(self.told.worlds, replies, strict=True)
        )
        assert first[0] < 500 or first[0] == 503, (ask.told(), first)
        if first != second:
            raise Interference(self._report(ask, first, second))
        return replies[0], replies[1]

    def _report(self, ask: Ask, first: object, second: object) -> str:
        """The story, the question, and what differs."""
        reader = self.told.reader
        roles = ", ".join(f"{role} of {scope}" for scope, role in reader.roles.items())
        lines = [f"seed {self._seed}: {ask.told()}", f"reader: {roles}; admin: {reader.is_admin}"]
        for name, world in zip(("plain", "busy"), self.told.worlds, strict=True):
            lines += [f"--- the {name} world, {world.slug}", *world.told]
        shown = [
            json.dumps(each, indent=1, ensure_ascii=False).split("\n") for each in (first, second)
        ]
        lines += unified_diff(shown[0], shown[1], "plain", "busy", lineterm="", n=6)
        return "\n".join(lines)


def _tells(reply: Reply) -> bool:
    """Whether an answer has anything in it that something hidden could have disturbed."""
    if not 200 <= reply.status < 300:
        return False
    if reply.body.startswith(b"id: "):
        return b"data: " in reply.body
    content = reply.json if reply.body else {}
    if not isinstance(content, dict):
        return True
    return all(content[name] for name in (*LISTS, "changed") if name in content)


def _cursor(reply: Reply, name: str) -> str | None:
    content = reply.json
    cursor = content.get(name) if isinstance(content, dict) else None
    if isinstance(content, dict) and content.get("caughtUp"):
        return None
    return cursor if isinstance(cursor, str) else None
