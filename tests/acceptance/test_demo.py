"""`make demo` without make: it serves the sample, its three commands work, Ctrl-C ends it."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.handbook import await_revision
from tests.acceptance.processes import Ended, Json, finish, start

COMMANDS = 3

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


class Demo:
    """A running demo and what it printed."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert process.stdout is not None
        self.said: list[str] = []
        for line in process.stdout:
            self.said.append(line.strip())
            if line.startswith("Ctrl-C"):
                break

    def value(self, name: str) -> str:
        (found,) = (line.removeprefix(name) for line in self.said if line.startswith(f"{name} "))
        return found.strip()

    @property
    def commands(self) -> list[str]:
        return [line for line in self.said if line.startswith("curl ")]

    def try_commands(self) -> list[Json]:
        answers = []
        for command in self.commands:
            ended = subprocess.run(
                ["sh", "-c", command], capture_output=True, check=True, timeout=60
            )
            answers.append(msgspec.json.decode(ended.stdout, type=Json))
        assert not any("error" in answer for answer in answers), answers
        return answers

    def interrupt(self) -> Ended:
        self._process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> Ended:
        return finish(self._process)


@contextmanager
def demo(folder: Path) -> Iterator[Demo]:
    process = start([sys.executable, "-m", "api.demo"], cwd=folder)
    try:
        yield Demo(process)
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def test_the_demo_serves_its_three_commands_work_and_it_runs_twice(tmp_path: Path) -> None:
    with demo(tmp_path) as first:
        assert len(first.commands) == COMMANDS
        page, older, feed = first.try_commands()
        assert page["page"]["ref"] == older["page"]["ref"] == "org:acme#policies/refund"
        assert older["revision"] == 3
        assert page["page"]["version"] > older["page"]["version"]
        assert page["page"]["body"] != older["page"]["body"]
        assert len(feed["items"]) == 5
        key, head = first.value("key"), page["revision"]
        with demo(tmp_path) as beside:
            # One server a file: the second says so and leaves the first alone.
            refused = beside.end()
            assert (refused.code, beside.said) == (1, [])
            assert refused.err.startswith("DATABASE_IN_USE: ")
        assert first.try_commands()[0]["revision"] == head
        ended = first.interrupt()
    assert ended.code == 0, ended
    assert "Traceback" not in ended.err
    assert (tmp_path / ".demo" / "key").stat().st_mode & 0o077 == 0
    with demo(tmp_path) as second:
        assert second.value("key") == key
        assert second.try_commands()[0]["revision"] == head
        assert second.interrupt().code == 0


def test_a_second_demo_takes_a_free_port(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with demo(tmp_path / "one") as one, demo(tmp_path / "two") as two:
        assert one.value("URL") != two.value("URL")
        assert len(two.try_commands()) == COMMANDS
        assert (one.interrupt().code, two.interrupt().code) == (0, 0)


def test_a_demo_that_was_killed_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    process = start([sys.executable, "-m", "api.demo"], cwd=tmp_path)
    building = tmp_path / ".demo" / "building" / "kbstore.db"
    while not building.exists():
        assert process.poll() is None
        time.sleep(0.01)
    await_revision(building, 5, 60)
    process.kill()
    process.communicate()
    assert not (tmp_path / ".demo" / "store").exists()
    with demo(tmp_path) as again:
        assert [answer["revision"] for answer in again.try_commands()][1] == 3
        assert again.interrupt().code == 0
    assert not building.exists()
