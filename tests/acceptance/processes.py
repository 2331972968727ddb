"""Real processes: the command line run to its end, and a server on loopback."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import httpx
import msgspec
from click.testing import CliRunner
from msgspec import Struct

from api.cli import main

ROOT = Path(__file__).parents[2]
PROCESS_SECONDS_MAX = 300
"""No process of a test takes longer, on the slowest machine."""

Json = dict[str, Any]
Where = Path | str
"""A database: a SQLite file, or the URL of any."""


class Ended(Struct, frozen=True):
    """A process that came to its end."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """The one JSON object on its standard output."""
        assert self.out.count("\n") == 1, self
        return msgspec.json.decode(self.out, type=Json)

    @property
    def error(self) -> Json:
        """The refusal it ended with."""
        assert self.code == 1, self
        refusal = self.json["error"]
        assert isinstance(refusal, dict)
        return refusal


def url_of(database: Where) -> str:
    return database if isinstance(database, str) else f"sqlite:///{database}"


def command_of(database: Where, *arguments: object) -> list[str]:
    """`kbstore ARGUMENTS --database ... --json`, run by this interpreter."""
    given = [str(argument) for argument in arguments]
    return [sys.executable, "-m", "api.cli", *given, "--database", url_of(database), "--json"]


def environment(**more: str) -> Mapping[str, str]:
    """The environment of a test's process: the project's own code, nothing configured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KBSTORE_")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
    """Starts a process with its streams piped, unless told otherwise."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    given = {"env": environment(), "cwd": ROOT, **streams, **options}
    return subprocess.Popen(command, text=True, **given)


def finish(process: "subprocess.Popen[str]") -> Ended:
    """Waits for a process to end by itself."""
    try:
        out, err = process.communicate(timeout=PROCESS_SECONDS_MAX)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return Ended(process.returncode, out, err)


def kbstore(database: Where, *arguments: object) -> Ended:
    """Runs a command of the command line in a process of its own."""
    return finish(start(command_of(database, *arguments)))


def done(database: Where, *arguments: object) -> Json:
    """What a command that has to succeed printed."""
    ended = kbstore(database, *arguments)
    assert ended.code == 0, ended
    return ended.json


def invoke(database: Where, *arguments: object) -> Ended:
    """Runs a command within this process: as above, and much faster."""
    given = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, [*given, "--database", url_of(database), "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


def invoked(database: Where, *arguments: object) -> Json:
    """What a command that has to succeed printed, run within this process."""
    ended = invoke(database, *arguments)
    assert ended.code == 0, ended
    return ended.json


class Served:
    """A server process and where it answers. Its log goes to a file: nobody reads a pipe."""

    def __init__(self, process: "subprocess.Popen[str]", log: IO[str]) -> None:
        self.process = process
        self._log = log
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said:
            raise AssertionError(f"the server did not start: {self._ended()}")
        self.url = msgspec.json.decode(said, type=dict[str, str])["url"]

    def kb_url(self, kb: str) -> str:
        return f"{self.url}/openapi/v2/knowledge-bases/{kb}"

    def client(self, kb: str, key: str) -> httpx.Client:
        """A client of one knowledge base; paths are relative to its address."""
        return httpx.Client(
            base_url=self.kb_url(kb),
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
            trust_env=False,
        )

    def kill(self) -> Ended:
        """SIGKILL: nothing of it runs on."""
        return self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> Ended:
        """Sends a signal and waits until the process is gone."""
        self.process.send_signal(number)
        return self._ended()

    def _ended(self) -> Ended:
        ended = finish(self.process)
        self._log.seek(0)
        with self._log:
            return Ended(ended.code, ended.out, self._log.read())


def start_server(command: list[str]) -> Served:
    """The server that a command starts, once it answers."""
    log = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - the server closes it
    return Served(start(command, stderr=log), log)


@contextmanager
def server(database: Where) -> Iterator[Served]:
    """A server for the length of a block; killed at the end if it still runs."""
    served = start_server(command_of(database, "serve", "--port", 0))
    try:
        yield served
    finally:
        if served.process.returncode is None:
            served.kill()
