"""The one canonicaliser: an answer without what differs from world to world by itself.

Numbers and times name a moment. Each becomes the number of commits, or of events, that both
worlds have up to it, so that a moment between two shared ones reads as the one before. What
was changed by somebody hidden thus shows as changed at another moment, while a head that
hidden commits have moved reads as where both worlds stand. Cursors, digests, ETags and
secrets become their kind; an ETag keeps the version it begins with.
"""

import json
import re
from bisect import bisect_right

from api.cursors import CURSOR_CHARACTERS
from kbstore.clock import parse_time
from tests.noninterference.asking import Reply
from tests.noninterference.world import World

Plain = tuple[int, tuple[tuple[str, str], ...], object]

REVISIONS = frozenset(
    (
        "revision",
        "deletion",
        "currentRevision",
        "cursorRevision",
        "activeContentRevision",
        "expectedRevision",
        "minRevision",
    )
)
POSITIONS = frozenset(("position",))
SECRETS = frozenset(("secret", "digest", "messageId"))

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_CURSOR = re.compile(rf"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{{{CURSOR_CHARACTERS}}}(?![A-Za-z0-9_-])")
_NUMBER = re.compile(r"(?:(?<=[Rr]evision[ =])|(?<=Commit )|(?<=newest is )|(?<=, not ))\d+\b")
_COMMIT = re.compile(r"(?<=/commits/)\d+$")
_ETAG = re.compile(r'"(?:(\d+)-)?[0-9a-f]{32}"')
_EVENT_ID = re.compile(r"id: (\d+)")


def plain(world: World, reply: Reply) -> Plain:
    """What is compared of an answer."""
    content: object = reply.body.decode()
    is_configuration = False
    if reply.body and not reply.body.startswith(b"id: "):
        read = json.loads(reply.body)
        is_configuration = isinstance(read, dict) and "configuration" in read
        content = _value(world, read, "", is_configuration=is_configuration)
    elif reply.body:
        content = _stream(world, reply.body.decode())
    headers = []
    for name, value in reply.headers:
        if name == "content-length":
            continue
        if name == "kb-revision":
            value = _revision(world, int(value))
        elif name == "etag":
            value = '"<etag>"' if is_configuration else _ETAG.sub(r'"\1-<etag>"', value)
        elif name == "location":
            value = _COMMIT.sub(lambda found: _revision(world, int(found[0])), value)
        headers.append((name, value))
    return reply.status, tuple(headers), content


def _value(world: World, value: object, name: str, *, is_configuration: bool) -> object:
    match value:
        case dict():
            return {
                key: _value(world, inner, key, is_configuration=is_configuration)
                for key, inner in value.items()
            }
        case list():
            return [
                _value(world, inner, name, is_configuration=is_configuration) for inner in value
            ]
        case int() if not isinstance(value, bool):
            if name in REVISIONS or (is_configuration and name == "version"):
                return _revision(world, value)
            return _position(world, value) if name in POSITIONS else value
        case str():
            return f"<{name}>" if name in SECRETS else _text(world, value)
        case _:
            return value


def _text(world: World, text: str) -> str:
    if _TIME.fullmatch(text):
        return f"<time {bisect_right(world.times, parse_time(text, ''))}>"
    return _NUMBER.sub(lambda found: _revision(world, int(found[0])), _CURSOR.sub("<cursor>", text))


def _stream(world: World, text: str) -> list[object]:
    """The frames of a stream; its places among them."""
    frames: list[object] = []
    for line in text.splitlines():
        if line.startswith("data: "):
            data = json.loads(line.removeprefix("data: "))
            frames.append(_value(world, data, "", is_configuration=False))
        else:
            frames.append(
                _EVENT_ID.sub(lambda found: f"id: {_position(world, int(found[1]))}", line)
            )
    return frames


def _revision(world: World, number: int) -> str:
    if number > world.revisions[-1] and number > world.head:
        return f"<revision beyond the head by {number - world.head}>"
    return f"<revision {bisect_right(world.revisions, number)}>"


def _position(world: World, number: int) -> str:
    return f"<position {bisect_right(world.positions, number)}>"
