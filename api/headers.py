"""Header values: UTF-8, decoded strictly, each header once."""

import re

from litestar.types import HTTPScope

from kbstore.errors import ValidationError

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def raw_header(scope: HTTPScope, name: bytes) -> bytes | None:
    """The bytes of a header; None when it is absent.

    Raises ValidationError, reason `repeated`, when it stands twice: which one counts would be
    a guess.
    """
    found = None
    for header, value in scope["headers"]:
        if header == name:
            if found is not None:
                raise _refused(name, "stands twice", "repeated")
            found = value
    return found


def text_header(scope: HTTPScope, name: bytes, code_points_max: int | None = None) -> str | None:
    """The text of a header, without white space around it; None when absent or empty.

    Raises ValidationError: reason `notUtf8`, `control`, `tooLong` or `repeated`.
    """
    raw = raw_header(scope, name)
    if raw is None:
        return None
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise _refused(name, "is not UTF-8", "notUtf8") from None
    if _CONTROL.search(text):
        raise _refused(name, "contains a control character", "control")
    if code_points_max is not None and len(text) > code_points_max:
        raise ValidationError(
            f"{display_name(name)} has at most {code_points_max} characters.",
            field=display_name(name),
            reason="tooLong",
            limit=code_points_max,
            actual=len(text),
        )
    return text or None


def display_name(name: bytes) -> str:
    """A header as people write it: `If-Match`, `KB-Scopes`."""
    words = name.decode().split("-")
    return "-".join("KB" if word == "kb" else word.capitalize() for word in words)


def _refused(name: bytes, what: str, reason: str) -> ValidationError:
    shown = display_name(name)
    return ValidationError(f"{shown} {what}.", field=shown, reason=reason)
