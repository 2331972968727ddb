"""Front matter: a YAML mapping between `---` lines at the top of a body.

YAML is read as a flat stream of events and put together here, without recursion: a value
that JSON cannot hold, an alias, a deep nesting or a second document is an error, never a
surprise for whoever reads the values later.
"""

import math
import re
from datetime import date

import yaml
from msgspec import Struct

from kbstore.limits import FRONT_MATTER_BYTES_MAX

FRONT_MATTER_LEVELS_MAX = 20

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {_TAG + name for name in ("str", "null", "bool", "int", "float", "timestamp")}
_COLLECTION_TAGS = {None, "!", _TAG + "map", _TAG + "seq"}
_MERGE_TAG = _TAG + "merge"
_END_LINE = re.compile(r"^(?:---|\.\.\.)$", re.MULTILINE)
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**64 - 1  # what JSON encoders of machine words hold

_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = (
    yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
)


class FrontMatter(Struct, frozen=True):
    """What stands above a body's Markdown.

    `end_line` is the line that closes it, 0 without front matter; `values` are JSON values,
    dates and times as ISO 8601 strings. With an `error` the lines are ordinary text of the
    body: `end_line` is 0 and `values` None.
    """

    end_line: int = 0
    values: dict[str, object] | None = None
    error: str | None = None


NO_FRONT_MATTER = FrontMatter()


def split_front_matter(body: str) -> FrontMatter:
    """The front matter of a body: only when line 1 is `---` and a line `---` or `...` follows.

    It must be a YAML mapping of at most 8 KiB of UTF-8, the two border lines not counted;
    keys are kept as written (`on`, `2024`), a key given twice is an error. Never raises.
    """
    if not body.startswith("---\n"):
        return NO_FRONT_MATTER
    end = _END_LINE.search(body, 4)
    if end is None:
        return NO_FRONT_MATTER
    source = body[4 : end.start()]
    if len(source.encode("utf-8", "surrogatepass")) > FRONT_MATTER_BYTES_MAX:
        return FrontMatter(error=f"front matter is longer than {FRONT_MATTER_BYTES_MAX} bytes")
    try:
        values = _read_mapping(source)
    except _YAMLRefusedError as refused:
        return FrontMatter(error=str(refused))
    return FrontMatter(source.count("\n") + 2, values)


class _YAMLRefusedError(Exception):
    """Carries the sentence for `FrontMatter.error`."""

    def __init__(self, what: str, at: yaml.Event | yaml.MarkedYAMLError | None = None) -> None:
        mark = None
        if at is not None:
            mark = at.start_mark if isinstance(at, yaml.Event) else at.problem_mark
        # Line 1 of the body is the border above the YAML, and a mark counts from 0.
        super().__init__(what if mark is None else f"line {mark.line + 2}: {what}")


def _read_mapping(source: str) -> dict[str, object]:
    try:
        loader = _Loader(source)
        try:
            document = _compose(loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise _YAMLRefusedError(error.problem or "invalid YAML", error) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise _YAMLRefusedError("invalid YAML: a character is not allowed in it") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise _YAMLRefusedError("front matter must be a mapping of names to values")
    return document


class _Open:
    """A collection that is being filled; `key` is the mapping key that waits for its value."""

    def __init__(self, value: dict[str, object] | list[object]) -> None:
        self.value = value
        self.key: str | None = None

    def put(self, item: object, event: yaml.Event) -> None:
        if isinstance(self.value, list):
            self.value.append(item)
        elif self.key is None:
            self.key = _read_key(event, self.value)
        else:
            self.value[self.key] = item
            self.key = None

    @property
    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


def _compose(loader: yaml.CSafeLoader | yaml.SafeLoader) -> object:
    """The value of the one document in the stream; None for an empty one."""
    root = _Open([])
    stack = [root]
    documents = 0
    while True:
        event = loader.get_event()
        if isinstance(event, yaml.StreamEndEvent):
            break
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _YAMLRefusedError("more than one YAML document", event)
        elif isinstance(event, yaml.AliasEvent):
            raise _YAMLRefusedError("aliases are not read", event)
        elif isinstance(event, yaml.CollectionStartEvent):
            _open_collection(event, stack)
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.ScalarEvent):
            top = stack[-1]
            top.put(None if top.wants_key else _read_scalar(loader, event), event)
    return root.value[0] if isinstance(root.value, list) and root.value else None


def _open_collection(event: yaml.CollectionStartEvent, stack: list[_Open]) -> None:
    if event.tag not in _COLLECTION_TAGS:
        raise _YAMLRefusedError(f"the tag {event.tag} is not read", event)
    if len(stack) > FRONT_MATTER_LEVELS_MAX:
        raise _YAMLRefusedError(f"nested deeper than {FRONT_MATTER_LEVELS_MAX} levels", event)
    value: dict[str, object] | list[object] = (
        {} if isinstance(event, yaml.MappingStartEvent) else []
    )
    stack[-1].put(value, event)
    stack.append(_Open(value))


def _read_key(event: yaml.Event, mapping: dict[str, object]) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise _YAMLRefusedError("a key must be a plain value", event)
    key = _checked_string(event.value, event)
    if key == "<<" and event.implicit[0]:
        raise _YAMLRefusedError("merge keys are not read", event)
    if key in mapping:
        raise _YAMLRefusedError(f"the key {key!r} is given twice", event)
    return key


def _read_scalar(loader: yaml.CSafeLoader | yaml.SafeLoader, event: yaml.ScalarEvent) -> object:
    """The JSON value of a scalar: null, a boolean, a number or a string."""
    tag = event.tag
    if tag is None or tag == "!":
        tag = loader.resolve(  # type: ignore[no-untyped-call]
            yaml.ScalarNode, event.value, event.implicit
        )
    if tag == _MERGE_TAG:
        return event.value
    if tag not in _SCALAR_TAGS:
        raise _YAMLRefusedError(f"the tag {tag} is not read", event)
    try:
        value = loader.construct_object(yaml.ScalarNode(tag, event.value))
    except (ValueError, LookupError, OverflowError) as error:
        raise _YAMLRefusedError(f"{event.value[:40]!r} is not a value", event) from error
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return _checked_string(value, event)
    if isinstance(value, float) and not math.isfinite(value):
        raise _YAMLRefusedError("a number must be finite", event)
    if isinstance(value, int) and not _INTEGER_MIN <= value <= _INTEGER_MAX:
        raise _YAMLRefusedError("an integer must fit into 64 bits", event)
    return value


def _checked_string(value: str, event: yaml.Event) -> str:
    if "\0" in value:
        raise _YAMLRefusedError("a string contains a NUL character", event)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _YAMLRefusedError("a string contains half of a surrogate pair", event) from None
    return value
