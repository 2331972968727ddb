"""Reading an operation log: one JSON object a line, plain or compressed with xz.

    {"n": 1, "at": "2016-09-30T18:46:06Z", "actor": "author-001", "ops": [
        {"op": "write", "path": "a/b.md", "text": "..."},
        {"op": "move", "from": "a/b.md", "to": "c.md"},
        {"op": "delete", "path": "c.md"}]}

The log is streamed: memory holds one line, whatever its size. Every path ends in `.md`.
"""

import lzma
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, Struct

from api.imports.paths import PathError, keys_of
from kbstore.access import parse_principal
from kbstore.errors import ImportInvalidError, ValidationError
from kbstore.limits import (
    IMPORT_INFLATED_BYTES_MAX,
    IMPORT_LINE_BYTES_MAX,
    IMPORT_OPERATIONS_PER_LINE_MAX,
    REVISION_MAX,
)
from kbstore.text import clean_body

_CHUNK_BYTES = 256 * 1024
_XZ_MAGIC = b"\xfd7zXZ\x00"
# `xz -9` needs 65 MiB to decompress; a forged header may ask for 4 GiB.
_XZ_MEMORY_BYTES_MAX = 256 * 1024 * 1024


class WriteFile(Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="write"):
    path: str
    text: str


class MoveFile(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="op",
    tag="move",
    rename={"from_": "from"},
):
    from_: str
    to: str


class DeleteFile(Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="delete"):
    path: str


FileOperation = WriteFile | MoveFile | DeleteFile


class LogLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One line, one commit. `n` rises from line to line; `at` may go back in time."""

    n: Annotated[int, Meta(ge=1, le=REVISION_MAX)]
    at: Annotated[datetime, Meta(tz=True)]
    actor: str
    ops: Annotated[tuple[FileOperation, ...], Meta(max_length=IMPORT_OPERATIONS_PER_LINE_MAX)]

    @property
    def principal(self) -> str:
        """Who acts: `user:` and the actor."""
        return principal_of(self.actor)


class LogSurvey(Struct, frozen=True):
    """A whole log, checked: the SHA-256 (hexadecimal) of the file as given, and its size."""

    sha256: str
    lines: int
    operations: int


_decoder = msgspec.json.Decoder(LogLine)


def survey_log(path: Path) -> LogSurvey:
    """Reads a log from end to end before anything of it is written.

    Raises ImportInvalidError, naming the line, for everything that can be seen without the
    pages: form, order, paths, texts, sizes.
    """
    with path.open("rb") as file:
        digest = sha256()
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    lines = operations = 0
    for _, line in read_log(path):
        lines += 1
        operations += len(line.ops)
    return LogSurvey(digest.hexdigest(), lines, operations)


def read_log(path: Path) -> Iterator[tuple[int, LogLine]]:
    """The lines of a log, each with its number in the file, counted from 1; texts come with
    single line feeds. Raises ImportInvalidError, naming the line."""
    last = 0
    with path.open("rb") as file:
        for number, raw in enumerate(_raw_lines(_chunks(file)), 1):
            line = decode_line(raw, number)
            if line.n <= last:
                raise _refused(number, "order", f"n is {line.n} after {last}; it has to rise")
            last = line.n
            yield number, line


def principal_of(actor: str) -> str:
    """The principal a log's actor acts as. Raises ValidationError for the field `actor`."""
    return parse_principal(f"user:{actor}", "actor")


def decode_line(raw: bytes, number: int) -> LogLine:
    """One line of a log, checked by itself. Raises ImportInvalidError."""
    try:
        line = _decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _refused(number, "shape", str(error)) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _refused(number, "json", str(error)) from None
    try:
        principal_of(line.actor)
        operations = tuple(_checked(operation) for operation in line.ops)
    except PathError as error:
        raise _refused(number, error.reason, str(error)) from None
    except ValidationError as error:
        reason = str(error.details["field"])
        raise _refused(number, reason, error.message) from None
    return msgspec.structs.replace(line, ops=operations)


def _checked(operation: FileOperation) -> FileOperation:
    match operation:
        case WriteFile():
            keys_of(operation.path)
            return WriteFile(operation.path, clean_body(operation.text, "text"))
        case MoveFile():
            keys_of(operation.from_)
            keys_of(operation.to)
        case DeleteFile():
            keys_of(operation.path)
    return operation


def _raw_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Splits at line feeds; what follows the last one is a line if there is any of it."""
    number, total = 1, 0
    rest = bytearray()
    try:
        for chunk in chunks:
            total += len(chunk)
            if total > IMPORT_INFLATED_BYTES_MAX:
                raise _refused(number, "size", f"the log is over {IMPORT_INFLATED_BYTES_MAX} bytes")
            start = 0
            while (end := chunk.find(b"\n", start)) >= 0:
                rest += chunk[start:end]
                _check_size(rest, number)
                yield bytes(rest)
                rest.clear()
                number, start = number + 1, end + 1
            rest += chunk[start:]
            _check_size(rest, number)
    except (lzma.LZMAError, EOFError) as error:
        raise _refused(number, "compression", f"the log cannot be decompressed: {error}") from None
    if rest:
        yield bytes(rest)


def _check_size(line: bytearray, number: int) -> None:
    if len(line) > IMPORT_LINE_BYTES_MAX:
        raise _refused(number, "size", f"the line is over {IMPORT_LINE_BYTES_MAX} bytes")


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    start = file.read(len(_XZ_MAGIC))
    file.seek(0)
    if start == _XZ_MAGIC:
        yield from _inflated(file)
        return
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


def _inflated(file: BinaryIO) -> Iterator[bytes]:
    """Decompresses in chunks, stream after stream, under a memory limit."""
    data = file.read(_CHUNK_BYTES)
    while data:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES_MAX)
        while not stream.eof:
            if stream.needs_input and not data:
                raise EOFError("it ends too early")
            yield stream.decompress(data, _CHUNK_BYTES)
            data = file.read(_CHUNK_BYTES) if stream.needs_input else b""
        data = stream.unused_data
        # Zeros may pad the gap between two streams.
        while not (data := data.lstrip(b"\0")) and (data := file.read(_CHUNK_BYTES)):
            pass


def _refused(number: int, reason: str, message: str) -> ImportInvalidError:
    return ImportInvalidError(f"line {number}: {message}", line=number, reason=reason)
