"""Reading operation logs: what a line may be, and that a refusal names it."""

import json
import lzma
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from api.imports import oplog
from api.imports.oplog import DeleteFile, MoveFile, WriteFile, decode_line, read_log, survey_log
from kbstore.errors import ImportInvalidError
from kbstore.limits import (
    BODY_BYTES_MAX,
    IMPORT_LINE_BYTES_MAX,
    IMPORT_OPERATIONS_PER_LINE_MAX,
    KEY_CODE_POINTS_MAX,
    NESTING_LEVELS_MAX,
    PRINCIPAL_CODE_POINTS_MAX,
)


def encoded(**fields: object) -> bytes:
    line = {"n": 1, "at": "2026-03-01T10:00:00Z", "actor": "author-1", "ops": []}
    return json.dumps(line | fields).encode()


def writing(path: str, text: str = "text") -> bytes:
    return encoded(ops=[{"op": "write", "path": path, "text": text}])


def reason_of(raw: bytes) -> str:
    with pytest.raises(ImportInvalidError) as caught:
        decode_line(raw, 7)
    assert caught.value.details["line"] == 7
    assert caught.value.message.startswith("line 7: ")
    return str(caught.value.details["reason"])


def test_a_line_reads_as_written() -> None:
    operations = [
        {"op": "write", "path": "a/b.md", "text": "one\r\ntwo\rthree\n"},
        {"op": "move", "from": "a/b.md", "to": "c.md"},
        {"op": "delete", "path": "c.md"},
    ]
    line = decode_line(encoded(n=3, at="2026-03-01T10:00:00+02:00", ops=operations), 1)
    assert line.ops == (
        WriteFile("a/b.md", "one\ntwo\nthree\n"),
        MoveFile("a/b.md", "c.md"),
        DeleteFile("c.md"),
    )
    assert (line.n, line.principal) == (3, "user:author-1")
    assert line.at == datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "json"),
        (b"{", "json"),
        (b'{"n": 1}', "shape"),
        (b"[]", "shape"),
        (b"[" * 100_000, "shape"),
        (encoded(n=1).replace(b'"ops": []', b'"ops": ' + b"[" * 100_000), "shape"),
        (writing("a.md", "X").replace(b"X", b"caf\xe9"), "json"),
        (encoded() + b"x", "json"),
        (b"\xff" + encoded(), "json"),
        (encoded(n="1"), "shape"),
        (encoded(n=0), "shape"),
        (encoded(n=1.5), "shape"),
        (encoded(n=2**60), "shape"),
        (encoded(message="hello"), "shape"),
        (encoded(at="2026-03-01T10:00:00"), "shape"),
        (encoded(at="2026-03-01"), "shape"),
        (encoded(at=5), "shape"),
        (encoded(actor=""), "actor"),
        (encoded(actor=" author"), "actor"),
        (encoded(actor="a\nb"), "actor"),
        (encoded(ops=None), "shape"),
        (encoded(ops=[{"op": "copy", "path": "a.md"}]), "shape"),
        (encoded(ops=[{"path": "a.md"}]), "shape"),
        (encoded(ops=[{"op": "write", "path": "a.md"}]), "shape"),
        (encoded(ops=[{"op": "delete", "path": "a.md", "text": ""}]), "shape"),
        (encoded(ops=[{"op": "move", "from_": "a.md", "to": "b.md"}]), "shape"),
        (encoded(ops=[{"op": "move", "from": "a.md", "to": "../b.md"}]), "path"),
        (encoded(ops=[{"op": "move", "from": "/a.md", "to": "b.md"}]), "path"),
        (encoded(ops=[{"op": "delete", "path": "a//b.md"}]), "path"),
        (writing("a.md", "a\0b"), "text"),
        (b'{"n":1,"at":"2026-03-01T10:00:00Z","actor":"a","ops":'
         b'[{"op":"write","path":"a.md","text":"\\ud800"}]}', "json"),
    ],
)  # fmt: skip
def test_what_a_line_may_not_be(raw: bytes, reason: str) -> None:
    assert reason_of(raw) == reason


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a.txt", "suffix"),
        ("a.MD", "suffix"),
        ("a.md/", "suffix"),
        ("", "suffix"),
        (".md", "path"),
        ("a/.md", "path"),
        ("..md", "path"),
        ("...md", "path"),
        ("./a.md", "path"),
        ("a/../b.md", "path"),
        ("/a.md", "path"),
        ("a//b.md", "path"),
        ("a#b.md", "key"),
        ("a%2fb.md", "key"),
        ("a\0b.md", "key"),
        ("a\nb.md", "key"),
        (" .md", "key"),
        ("k" * (KEY_CODE_POINTS_MAX + 1) + ".md", "key"),
        ("/".join(["k"] * (NESTING_LEVELS_MAX + 1)) + ".md", "nesting"),
    ],
)
def test_paths_that_name_no_page(path: str, reason: str) -> None:
    assert reason_of(writing(path)) == reason


@pytest.mark.parametrize(
    "path",
    [
        "🤔.md",
        "测试/テスト.md",
        "---.md",
        "con.md",
        ".github/x.md",
        "a.md.md",
        "a.md/b.md",
        "....md",
        "a b/c\\d.md",
        "cafe\u0301.md",
        "k" * KEY_CODE_POINTS_MAX + ".md",
        "/".join(["k"] * NESTING_LEVELS_MAX) + ".md",
    ],
)
def test_paths_of_any_script_name_pages(path: str) -> None:
    assert decode_line(writing(path), 1).ops == (WriteFile(path, "text"),)


def test_limits_at_their_edges() -> None:
    actor = "a" * (PRINCIPAL_CODE_POINTS_MAX - len("user:"))
    assert len(decode_line(encoded(actor=actor), 1).principal) == PRINCIPAL_CODE_POINTS_MAX
    assert reason_of(encoded(actor=actor + "a")) == "actor"
    assert len(decode_line(writing("a.md", "b" * BODY_BYTES_MAX), 1).ops) == 1
    assert reason_of(writing("a.md", "b" * (BODY_BYTES_MAX + 1))) == "text"
    many = [{"op": "delete", "path": "a.md"}] * IMPORT_OPERATIONS_PER_LINE_MAX
    assert len(decode_line(encoded(ops=many), 1).ops) == IMPORT_OPERATIONS_PER_LINE_MAX
    assert reason_of(encoded(ops=[*many, many[0]])) == "shape"


# --- whole logs --------------------------------------------------------------------------------


def read(path: Path) -> list[tuple[int, int]]:
    return [(number, line.n) for number, line in read_log(path)]


def refusal_of(path: Path) -> tuple[object, object]:
    with pytest.raises(ImportInvalidError) as caught:
        read(path)
    return caught.value.details["line"], caught.value.details["reason"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_plain_and_compressed_logs_read_alike(log: Path) -> None:
    raw = encoded(n=1) + b"\n" + encoded(n=5) + b"\r\n" + encoded(n=6)
    log.write_bytes(raw)
    assert read(log) == [(1, 1), (2, 5), (3, 6)]
    assert survey_log(log).sha256 == sha256(raw).hexdigest()
    # Two streams with padding between them, the first ending within a line.
    packed = lzma.compress(raw[:20]) + bytes(8) + lzma.compress(raw[20:])
    log.write_bytes(packed)
    assert read(log) == [(1, 1), (2, 5), (3, 6)]
    assert survey_log(log).sha256 == sha256(packed).hexdigest()


def test_an_empty_log_has_no_lines(log: Path) -> None:
    log.write_bytes(b"")
    assert read(log) == []
    log.write_bytes(lzma.compress(b""))
    assert survey_log(log).lines == 0


def test_numbers_have_to_rise(log: Path) -> None:
    log.write_bytes(encoded(n=2) + b"\n" + encoded(n=2) + b"\n")
    assert refusal_of(log) == (2, "order")


def test_a_blank_line_is_none(log: Path) -> None:
    log.write_bytes(encoded(n=2) + b"\n\n" + encoded(n=3) + b"\n")
    assert refusal_of(log) == (2, "json")


def test_damaged_compression_names_the_line(log: Path) -> None:
    packed = lzma.compress(encoded(n=1) + b"\n" + writing("a.md", "x" * 1_000))
    log.write_bytes(packed[:-20])
    assert refusal_of(log)[1] == "compression"
    log.write_bytes(packed + b"garbage")
    assert refusal_of(log)[1] == "compression"
    log.write_bytes(packed[:30] + bytes([packed[30] ^ 0xFF]) + packed[31:])
    assert refusal_of(log)[1] == "compression"


def test_a_line_is_bounded_while_it_is_inflated(log: Path) -> None:
    limit = IMPORT_LINE_BYTES_MAX
    fitting = encoded(n=1) + b" " * (limit - len(encoded(n=1)))
    log.write_bytes(lzma.compress(fitting, preset=0))
    assert read(log) == [(1, 1)]
    for longer in (fitting + b" ", fitting + b" \n"):
        log.write_bytes(lzma.compress(longer, preset=0))
        assert refusal_of(log) == (1, "size")


def test_decompression_gets_a_bounded_memory(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(lzma.compress(encoded(), preset=6))
    assert read(log) == [(1, 1)]
    monkeypatch.setattr(oplog, "_XZ_MEMORY_BYTES_MAX", 8 * 1024 * 1024)
    assert refusal_of(log) == (1, "compression")


def test_a_log_is_bounded_while_it_is_inflated(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = encoded(n=1) + b"\n" + encoded(n=2) + b"\n"
    log.write_bytes(lzma.compress(raw))
    monkeypatch.setattr(oplog, "IMPORT_INFLATED_BYTES_MAX", len(raw))
    assert read(log) == [(1, 1), (2, 2)]
    monkeypatch.setattr(oplog, "IMPORT_INFLATED_BYTES_MAX", len(raw) - 1)
    assert refusal_of(log)[1] == "size"


def test_a_log_is_streamed(log: Path) -> None:
    """What follows a damaged line is not read before the lines above it are used."""
    log.write_bytes(encoded(n=1) + b"\nnot json\n")
    lines = read_log(log)
    assert next(lines)[1].n == 1
    with pytest.raises(ImportInvalidError):
        next(lines)
