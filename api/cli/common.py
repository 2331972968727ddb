"""What all commands share: the database option, output, and how a refusal ends a command."""

import functools
import os
import pwd
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn, ParamSpec

import click
import msgspec
from eventsourcing.persistence import PersistenceError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.wiring import Services, open_services
from kbstore.access import Caller
from kbstore.errors import DatabaseUnavailableError, KBStoreError, NotFoundError, StoreError
from kbstore.store.catalogue import KnowledgeBase, find_knowledge_base
from kbstore.store.database import Database

P = ParamSpec("P")
DEFAULT_DATABASE = "sqlite:///kbstore.db"
LINE_SECONDS = 2.0


def database_option(command: Callable[P, None]) -> Callable[P, None]:
    """Adds `--database` and `--json`, and turns a refusal into a message and exit code 1."""

    @click.option(
        "--database",
        envvar="KBSTORE_DATABASE",
        default=DEFAULT_DATABASE,
        show_default=True,
        help="sqlite:///PATH or postgresql://USER@HOST/NAME",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except KBStoreError as error:
            refuse(error, bool(kwargs.get("as_json")))
        except PersistenceError as error:
            refusal = DatabaseUnavailableError(f"The database cannot be used: {error}.")
            refuse(refusal, bool(kwargs.get("as_json")))
        except OSError as error:
            refuse(StoreError(f"{error}."), bool(kwargs.get("as_json")))

    return wrapped


def refuse(error: KBStoreError, as_json: bool) -> NoReturn:
    """Prints a refusal, for programs or for people, and ends with exit code 1."""
    if as_json:
        body = {"code": error.code, "message": error.message, "details": error.details}
        print_json({"error": body})
    else:
        click.echo(f"{error.code}: {error.message}", err=True)
        for name, value in error.details.items():
            click.echo(f"  {name}: {value}", err=True)
    sys.exit(1)


def print_json(value: object) -> None:
    click.echo(msgspec.json.encode(value).decode())


def answer(as_json: bool, value: Mapping[str, object], text: str) -> None:
    """Prints the result of a command, for programs or for people."""
    if as_json:
        print_json(value)
    else:
        click.echo(text)


@contextmanager
def knowledge_base(database: str, address: str) -> Iterator[tuple[Services, KnowledgeBase]]:
    """The services with the knowledge base an argument names, by id or slug."""
    with open_services(database) as services:
        yield services, require_knowledge_base(services.database, address)


def require_knowledge_base(database: Database, address: str) -> KnowledgeBase:
    found = find_knowledge_base(database.reader(), address)
    if found is None:
        raise NotFoundError(f"There is no knowledge base {address}.")
    return found


def operator() -> Caller:
    """Who acts at the command line: the operating system's user, with the `admin` grant."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    name = re.sub(r"\s+", "-", name) or "operator"
    return Caller(principal=f"user:{name}", grants=frozenset({"admin"}))


class Bar:
    """Progress on standard error: a bar on a terminal, elsewhere a line every few seconds."""

    def __init__(self, what: str) -> None:
        console = Console(stderr=True)
        self._what = what
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(what, total=None)
        self._said_at = time.monotonic()

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._progress.stop()

    def __call__(self, done: int, total: int | None) -> None:
        """Shows that `done` of `total` are done; a total of None is not known yet."""
        if not self._progress.disable:
            self._progress.update(self._task, completed=done, total=total)
        elif time.monotonic() - self._said_at >= LINE_SECONDS:
            self._said_at = time.monotonic()
            click.echo(f"{self._what}: {done}" + (f" of {total}" if total else ""), err=True)
