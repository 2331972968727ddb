"""Texts: written once, named by id, proved by hash, erasable one by one."""

import zlib
from hashlib import sha256

import msgspec
from msgspec import Struct

from kbstore.domain.events import BodyRef, TextRef
from kbstore.ids import IdSource
from kbstore.text.terms import Terms

COMPRESS_BYTES_MIN = 512
COMPRESS_SAVING_MIN = 0.10


class LinkTarget(Struct, frozen=True, array_like=True):
    """A link as a text holds it: `kind` is `wiki` or `relative`, `line` counts from 1."""

    kind: str
    target: str
    line: int


class PreparedText(Struct, frozen=True):
    """A text ready to be written: `data` is UTF-8, deflated (zlib level 1) when `deflated`.

    `links` are the links in it and `targets` the same as a text of its own (None without
    any), so that a link's words can be erased like every other text. `terms` are those of a text
    that was counted already.
    """

    value: str
    ref: TextRef
    salt: bytes
    data: bytes
    deflated: bool
    links: tuple[LinkTarget, ...] = ()
    targets: "PreparedText | None" = None
    terms: Terms | None = None


class PreparedBody(Struct, frozen=True):
    """A body with its number of lines and its token estimate."""

    text: PreparedText
    lines: int
    tokens: int

    @property
    def ref(self) -> BodyRef:
        return BodyRef(self.text.ref, self.lines, self.tokens)


def prepare_text(
    value: str, ids: IdSource, links: tuple[LinkTarget, ...] = (), terms: Terms | None = None
) -> PreparedText:
    """Hashes and, where it pays, compresses a text. Pure but for its id and its salt."""
    raw = value.encode()
    salt = ids.new_salt()
    ref = TextRef(ids.new_id(), text_hash(salt, raw))
    data, deflated = deflate(raw)
    targets = prepare_text(encode_targets(links), ids) if links else None
    return PreparedText(value, ref, salt, data, deflated, links, targets, terms)


def deflate(raw: bytes) -> tuple[bytes, bool]:
    """The bytes to store and whether they are compressed: above 512 bytes, where it saves 10 %."""
    if len(raw) > COMPRESS_BYTES_MIN:
        packed = zlib.compress(raw, 1)
        if len(packed) <= len(raw) * (1 - COMPRESS_SAVING_MIN):
            return packed, True
    return raw, False


def inflate(data: bytes, deflated: bool) -> bytes:
    """The UTF-8 bytes of a stored text."""
    return zlib.decompress(data) if deflated else data


def text_hash(salt: bytes, raw: bytes) -> bytes:
    """SHA-256(salt + uncompressed UTF-8): what an event holds of a text."""
    return sha256(salt + raw).digest()


def encode_targets(links: tuple[LinkTarget, ...]) -> str:
    return msgspec.json.encode(links).decode()


def decode_targets(value: str) -> tuple[LinkTarget, ...]:
    """The links behind a `targets` text; none when that text was erased."""
    return msgspec.json.decode(value, type=tuple[LinkTarget, ...]) if value else ()
