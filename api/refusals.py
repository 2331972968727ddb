"""From what msgspec says of a value to a refusal that names the field."""

import re

import msgspec

from kbstore.errors import ValidationError

_PATH = re.compile(r" - at `(?:key in )?\$?\.?([^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_REASONS = (
    (re.compile(r"Expected `(?:int|str|array|object)` (?:of length )?[<>]"), "outOfRange"),
    (re.compile(r"Expected `[^`]*`, got"), "type"),
    (re.compile(r"Invalid (?:enum )?value"), "unknownValue"),
    (re.compile(r"Invalid UUID"), "notAnId"),
)
_SHOWN_CHARACTERS_MAX = 200


def validation_error(error: msgspec.ValidationError) -> ValidationError:
    """The refusal for a value of the wrong shape: `details.field` is its path.

    `reason` is `unknown`, `missing`, `type`, `outOfRange`, `unknownValue`, `notAnId` or
    `invalid`.
    """
    text = str(error)
    found = _PATH.search(text)
    path = found[1] if found else ""
    said = text[: found.start()] if found else text
    for pattern, reason, sentence in (
        (_UNKNOWN, "unknown", "There is no field {} here."),
        (_MISSING, "missing", "{} is missing."),
    ):
        if named := pattern.fullmatch(said):
            field = _joined(path, named[1])
            return ValidationError(sentence.format(field), field=field, reason=reason)
    reason = next((reason for pattern, reason in _REASONS if pattern.match(said)), "invalid")
    field = path[:_SHOWN_CHARACTERS_MAX] or "body"
    return ValidationError(f"{field}: {said[:_SHOWN_CHARACTERS_MAX]}.", field=field, reason=reason)


def _joined(path: str, name: str) -> str:
    shown = name[:_SHOWN_CHARACTERS_MAX]
    return f"{path}.{shown}" if path else shown
