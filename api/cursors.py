"""Cursors: where a walk through a list goes on, signed and all of one length.

    cursor  = base64url( payload || HMAC-SHA256(cursor key, payload) )
    payload = binding (16) || length (1) || MessagePack of a Place || padding

The binding is a hash of everything that has to be the same on the next call: knowledge base,
operation, principal, held scopes and the parameters that shape the list. `after` is the sort
key of the last item. Nothing in it is secret to its holder, but no byte of it can be altered,
and its length tells nothing of what it stands at.
"""

import base64
import binascii
import hmac
from hashlib import sha256
from uuid import UUID

import msgspec
from msgspec import Struct

from kbstore.access import Caller
from kbstore.errors import StaleCursorError, ValidationError
from kbstore.store.catalogue import KnowledgeBase

After = tuple[int | bytes, ...]
"""The sort key a list goes on after: ids, hashes and numbers, so that it stays short."""

Shape = tuple[int | str | bool | None, ...]

_BINDING_BYTES = 16
_MAC_BYTES = 32
_STATE_BYTES = 72
PAYLOAD_BYTES = _BINDING_BYTES + _STATE_BYTES
CURSOR_CHARACTERS = (PAYLOAD_BYTES + _MAC_BYTES) * 4 // 3
"""Every cursor has this length; the bytes are a multiple of three, so none is padding."""


class Place(Struct, frozen=True, array_like=True):
    """Where a walk stands. `is_pinned`: it began with a revision and never goes stale."""

    revision: int
    is_pinned: bool
    limit: int
    after: After


class Signer:
    """Makes and reads the cursors of one list for one caller."""

    def __init__(
        self, kb: KnowledgeBase, operation: str, caller: Caller, shape: Shape = ()
    ) -> None:
        self._key = kb.cursor_key
        self._binding = _binding(kb.kb_id, operation, caller, shape)

    def write(self, place: Place) -> str:
        """The cursor that leads back to `place`."""
        state = msgspec.msgpack.encode(place)
        assert len(state) < _STATE_BYTES, "sort keys are short"
        payload = self._binding + bytes([len(state)]) + state.ljust(_STATE_BYTES - 1, b"\0")
        return base64.urlsafe_b64encode(payload + self._mac(payload)).decode()

    def read(self, cursor: str) -> Place:
        """The place a cursor leads to.

        Raises ValidationError for the field `cursor`: reason `malformed` for what this key did
        not sign, `mismatch` for a cursor of another list, caller or parameters.
        """
        payload = _verified(self._key, cursor)
        if not hmac.compare_digest(payload[:_BINDING_BYTES], self._binding):
            raise refuse_mismatch()
        return _place_in(payload)

    def _mac(self, payload: bytes) -> bytes:
        return _mac(self._key, payload)


def place_in(kb: KnowledgeBase, cursor: str) -> Place:
    """The place in a cursor of any list of the knowledge base, which its list has yet to accept.

    Raises ValidationError as `Signer.read` does for what its key did not sign.
    """
    return _place_in(_verified(kb.cursor_key, cursor))


def stale(place: Place, head_revision: int) -> StaleCursorError:
    """The refusal of a walk whose state is no longer the newest one."""
    return StaleCursorError(
        f"The list was begun at revision {place.revision}, and the newest is {head_revision}. "
        f"Start again, or send revision={place.revision} to go on there.",
        field="cursor",
        cursorRevision=place.revision,
        activeContentRevision=head_revision,
        restart=True,
    )


def refuse_mismatch() -> ValidationError:
    """The refusal of a cursor that is genuine but of another list, caller, parameters or
    revision."""
    return _refused("is of another list, caller, parameters or revision", "mismatch")


def _binding(kb_id: UUID, operation: str, caller: Caller, shape: Shape) -> bytes:
    bound = [kb_id.bytes, operation, caller.principal, sorted(caller.held), shape]
    return sha256(msgspec.msgpack.encode(bound)).digest()[:_BINDING_BYTES]


def _verified(key: bytes, cursor: str) -> bytes:
    if len(cursor) == CURSOR_CHARACTERS and cursor.isascii():
        try:
            raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
        except binascii.Error:
            raw = b""
        payload, mac = raw[:PAYLOAD_BYTES], raw[PAYLOAD_BYTES:]
        # The decoder also takes the letters of the other alphabet for the same bytes.
        is_as_written = base64.urlsafe_b64encode(raw).decode() == cursor
        if is_as_written and hmac.compare_digest(mac, _mac(key, payload)):
            return payload
    raise _refused("was altered or is not one of this knowledge base", "malformed")


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, payload, "sha256")


def _place_in(payload: bytes) -> Place:
    try:
        return msgspec.msgpack.decode(_state_in(payload), type=Place)
    except msgspec.MsgspecError:
        # Signed by a release that wrote its cursors differently.
        raise _refused("is not one of this server", "malformed") from None


def _state_in(payload: bytes) -> bytes:
    start = _BINDING_BYTES + 1
    return payload[start : start + payload[_BINDING_BYTES]]


def _refused(what: str, reason: str) -> ValidationError:
    return ValidationError(f"The cursor {what}.", field="cursor", reason=reason)
