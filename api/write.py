"""A request on its way to becoming a command: what it expects, and its texts made ready."""

import re
from uuid import UUID

from api.calls import Call
from api.headers import text_header
from api.reading import id_of, page_id_of
from kbstore.domain.commands import ANY_VERSION, Expected
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.errors import PreconditionRequiredError, ValidationError
from kbstore.ids import IdSource
from kbstore.text import clean_body, clean_description, clean_name, clean_note_text
from kbstore.texts import PreparedBody, PreparedText, prepare_text
from projections.views import Json

INLINE_CHARACTERS_MAX = 2 * 1024
"""Longer bodies are analysed outside the event loop: dense Markdown takes a millisecond a KiB."""

_IF_MATCH = re.compile(r'"([0-9]{1,15})(?:-[\x21\x23-\x7e]*)?"')


class Write:
    """A request that writes, past idempotency and access. A handler may make it a dry run, give
    it another message for its commit, or add scopes whose pages were named by address."""

    def __init__(self, call: Call, raw: bytes, value: Json, expected: Expected) -> None:
        self.call = call
        self.raw = raw
        self.value = value
        self.expected = expected
        self.is_dry_run = False
        self.message: str | None = None
        self.scopes: set[str] = set()

    @property
    def page_id(self) -> UUID:
        return page_id_of(self.call)

    @property
    def note_id(self) -> UUID:
        return id_of(self.call, "noteId", "note")

    @property
    def ids(self) -> IdSource:
        return self.call.server.services.commands.ids

    # Texts are cleaned, limited, hashed, compressed and searched for links before the queue.

    def name(self, value: str, field: str = "name") -> PreparedText:
        return prepare_text(clean_name(value, field), self.ids)

    def description(self, value: str | None, field: str = "description") -> PreparedText | None:
        return None if value is None else prepare_text(clean_description(value, field), self.ids)

    def note_text(self, value: str, field: str = "text") -> PreparedText:
        return prepare_note_text(clean_note_text(value, field), self.ids)

    def prepare_body(self, value: str | None, field: str = "body") -> PreparedBody | None:
        """On the calling thread: a long one takes a while."""
        return None if value is None else prepare_body(clean_body(value, field), self.ids)

    async def body(self, value: str | None, field: str = "body") -> PreparedBody | None:
        if value is None or len(value) <= INLINE_CHARACTERS_MAX:
            return self.prepare_body(value, field)
        return await self.call.server.pool.run(lambda: self.prepare_body(value, field))


def expected_version(call: Call) -> int | str:
    """The version in `If-Match`: `"3"`, `"3-<hash>"`, or ANY_VERSION for `*`.

    Raises PreconditionRequiredError when it is missing, ValidationError for anything else.
    """
    given = text_header(call.scope, b"if-match")
    if given is None:
        raise PreconditionRequiredError(
            'Say which version you change: If-Match: "<version>", or If-Match: * for any.',
            field="If-Match",
        )
    if given == "*":
        return ANY_VERSION
    found = _IF_MATCH.fullmatch(given)
    if found is None:
        raise ValidationError(
            'If-Match must be one entity tag, "<version>" or "<version>-<hash>", or *.',
            field="If-Match",
            reason="malformed",
        )
    return int(found[1])
