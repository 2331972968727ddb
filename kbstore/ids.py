"""Identifiers: how they are made, and how a knowledge base is addressed."""

import os
import re
import threading
import time
from typing import Protocol
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec

from kbstore.limits import SLUG_CODE_POINTS_MAX

PIN_NAMESPACE = uuid5(NAMESPACE_URL, "kbstore:pin")
TEMPLATE_NAMESPACE = uuid5(NAMESPACE_URL, "kbstore:template")
DECLARED_PAGE_ID_VERSION = 5
"""The UUID version of declared pages; all other ids are of version 7."""
KNOWLEDGE_BASE_PREFIX = "knowledge-base-"
_TAIL_BITS = 74  # of a UUIDv7: all but its time, version and variant
_BINARY_OF_16 = b"\xc4\x10"  # in MessagePack
_decode_id = msgspec.msgpack.Decoder(UUID).decode
_SLUG = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{SLUG_CODE_POINTS_MAX - 2}}}[a-z0-9])?")


class IdSource(Protocol):
    """Makes new ids and salts; injected, so that a test can repeat a history exactly."""

    def new_id(self) -> UUID: ...

    def new_salt(self) -> bytes: ...


class SystemIds:
    """UUIDv7 (RFC 9562): time-ordered, strictly increasing within one process; random salts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millis = 0
        self._tail = 0

    def new_id(self) -> UUID:
        now = time.time_ns() // 1_000_000
        random = int.from_bytes(os.urandom(10), "big")
        with self._lock:
            if now > self._millis:
                self._millis, self._tail = now, random >> (80 - _TAIL_BITS + 1)
            else:
                # In the same millisecond, and when the clock steps back, ids still rise.
                self._tail += 1 + (random & 0xFFFF_FFFF)
                if self._tail >> _TAIL_BITS:
                    self._millis, self._tail = self._millis + 1, random & 0xFFFF_FFFF
            millis, tail = self._millis, self._tail
        head = millis << 16 | 7 << 12 | tail >> 62
        return UUID(int=head << 64 | 0b10 << 62 | tail & (1 << 62) - 1)

    def new_salt(self) -> bytes:
        return os.urandom(16)


def id_from_bytes(data: bytes) -> UUID:
    """The id that 16 bytes hold; for rows without number, as it takes a quarter of the time
    that `UUID(bytes=...)` does."""
    return _decode_id(_BINARY_OF_16 + data)


def pin_id(page_id: UUID, kind: str) -> UUID:
    """The one pin a page can have of a kind: UUIDv5(page, kind)."""
    return uuid5(PIN_NAMESPACE, f"{page_id}:{kind}")


def declared_page_id(kb_id: UUID, address: str, path: tuple[str, ...], occurrence: int) -> UUID:
    """The id of a scope page (`path` empty) or a template page before it is written.

    `occurrence` counts the pages once written from this declaration that no longer stand
    there, so that a page which moved away never shares its id with its successor.
    """
    parts = [str(kb_id), address, "/".join(path), str(occurrence)]
    return uuid5(TEMPLATE_NAMESPACE, "\n".join(parts))


def format_kb_address(kb_id: UUID) -> str:
    """The address of a knowledge base: `knowledge-base-<uuid>`."""
    return f"{KNOWLEDGE_BASE_PREFIX}{kb_id}"


def parse_kb_address(value: str) -> UUID | None:
    """The id in `knowledge-base-<uuid>` or a bare UUID; None for anything else (a slug)."""
    return parse_uuid(value.removeprefix(KNOWLEDGE_BASE_PREFIX))


def parse_uuid(value: str) -> UUID | None:
    """A UUID written in its canonical form (36 characters), else None."""
    if len(value) != 36:
        return None
    try:
        parsed = UUID(value)
    except ValueError:
        return None
    return parsed if str(parsed) == value.lower() else None


def is_slug(value: str) -> bool:
    """Whether a name can address a knowledge base: lower case letters, digits and hyphens."""
    return _SLUG.fullmatch(value) is not None and parse_kb_address(value) is None
