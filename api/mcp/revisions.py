"""Which protocol revision a message is of: that of its header, which its body must not gainsay.

The SDK goes by the header alone. Since 2026-07-28 each body names its revision too, and where
the two differ a message must be refused, or two readers of it would disagree.
"""

from typing import TypeAlias

from litestar.types import HTTPScope
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from msgspec import Struct

from api.answers import JSON
from projections.views import Json

Headers: TypeAlias = list[tuple[bytes, bytes]]

_HEADER = b"mcp-protocol-version"
_OF_PROTOCOL = b"mcp-"
_BLANKS = b" \t"


class Leg(Struct, frozen=True):
    """How the SDK serves a message: as 2026-07-28 has it, or after an older handshake, and by
    which headers."""

    is_modern: bool
    headers: Headers


def leg_of(scope: HTTPScope, message: Json) -> Leg:
    """The leg of a message in JSON.

    One whose header is missing, stands twice or differs from its body goes where the SDK
    refuses it (-32020 HeaderMismatch).
    """
    headers = [(name, _mended(name, value)) for name, value in scope["headers"]]
    named = [value.decode("latin-1") for name, value in headers if name == _HEADER]
    in_body = _revision_in(message)
    is_modern = any(name not in HANDSHAKE_PROTOCOL_VERSIONS for name in named)
    if len(named) > 1 or (not is_modern and in_body is not None and named != [in_body]):
        others = [header for header in headers if header[0] != _HEADER]
        return Leg(True, [*others, (_HEADER, b"")])
    return Leg(is_modern, headers)


def _mended(name: bytes, value: bytes) -> bytes:
    """A value as the SDK understands it."""
    if name == b"content-type":
        return JSON  # which was looked at, and may be written in any case
    # Blanks around a value are no part of it, but not every server takes them off.
    return value.strip(_BLANKS) if name.startswith(_OF_PROTOCOL) else value


def _revision_in(message: Json) -> Json:
    """The revision that a body names itself; None without one, as before 2026-07-28."""
    found = message
    for name in ("params", "_meta", PROTOCOL_VERSION_META_KEY):
        found = found.get(name) if isinstance(found, dict) else None
    return found
