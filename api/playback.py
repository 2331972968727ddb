"""Playing a scripted history into a knowledge base; the format is told in its sample file."""

import tomllib
from pathlib import Path
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct

from api.wiring import Services
from kbstore.access import OPERATOR, Caller
from kbstore.clock import parse_time
from kbstore.domain.commands import (
    ANY_VERSION,
    AddNote,
    CreatePage,
    EditPage,
    MergePage,
    MovePage,
    PageOperation,
    SetPin,
)
from kbstore.domain.declared import way_down
from kbstore.domain.lookup import Lookup
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.errors import NotFoundError, ValidationError
from kbstore.service import CommandRequest
from kbstore.store.commits import Origin
from kbstore.store.heads import read_head
from kbstore.store.texts import TextReader
from kbstore.surroundings import committed_configuration
from kbstore.texts import PreparedBody, prepare_text


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One commit of a scripted history; which fields it has depends on `op`."""

    op: str
    page: str
    actor: str
    at: str
    message: str
    name: str | None = None
    description: str | None = None
    body: str | None = None
    find: str | None = None
    put: str | None = None
    append: str | None = None
    to: str | None = None
    into: str | None = None
    text: str | None = None
    stamps: tuple[str, ...] = ()
    when: str | None = None
    kind: str = "page"
    audience: tuple[str, ...] = ()
    depth: int = 1


def read_steps(path: Path) -> tuple[Step, ...]:
    """The steps of a .toml file. Raises ValidationError for a step that is not one."""
    try:
        return msgspec.convert(
            tomllib.loads(path.read_text(encoding="utf-8"))["step"], tuple[Step, ...]
        )
    except (msgspec.ValidationError, tomllib.TOMLDecodeError, KeyError) as error:
        raise ValidationError(str(error), field="step", reason="malformed") from error


class Player:
    """Plays steps into one knowledge base, in order, each as a commit of its actor."""

    def __init__(self, services: Services, kb_id: UUID) -> None:
        self._services = services
        self._kb_id = kb_id

    def play(self, step: Step) -> int:
        """Writes one step; gives its revision."""
        request = CommandRequest(
            kb_id=self._kb_id,
            caller=Caller(principal=step.actor, held=_scopes(step), grants=frozenset({OPERATOR})),
            command=self._command(step),
            origin=Origin(
                actor=step.actor,
                message=step.message,
                occurred_at=parse_time(step.at, "at"),
            ),
        )
        return self._services.commands.execute(request).result().revision

    def _command(self, step: Step) -> PageOperation:
        ids = self._services.commands.ids
        match step.op:
            case "create":
                scope, parent, key = self._place(step.page)
                return CreatePage(
                    scope=scope,
                    parent=parent,
                    key=key,
                    name=prepare_text(step.name or "", ids),
                    description=prepare_text(step.description, ids) if step.description else None,
                    body=None if step.body is None else prepare_body(step.body, ids),
                )
            case "edit":
                return self._edit(step)
            case "move":
                scope, parent, key = self._place(step.to or "")
                return MovePage(
                    page=self._find(step.page),
                    expected_version=ANY_VERSION,
                    scope=scope,
                    parent=parent,
                    key=key,
                )
            case "merge":
                return MergePage(
                    page=self._find(step.page),
                    into=self._find(step.into or ""),
                    expected_version=ANY_VERSION,
                )
            case "note":
                return AddNote(
                    page=self._find(step.page),
                    text=prepare_note_text(step.text or "", ids),
                    stamps=step.stamps,
                    when=step.when,
                )
            case "pin":
                return SetPin(
                    page=self._find(step.page),
                    kind=step.kind,
                    audience=step.audience,
                    depth=step.depth,
                )
            case _:
                raise ValidationError(f"No step is called {step.op}.", field="op", reason="unknown")

    def _edit(self, step: Step) -> EditPage:
        ids, page_id = self._services.commands.ids, self._find(step.page)
        body: PreparedBody | msgspec.UnsetType = UNSET
        if step.body is not None:
            body = prepare_body(step.body, ids)
        elif step.append is not None:
            body = prepare_body(self._body(page_id) + step.append, ids)
        elif step.find is not None:
            before = self._body(page_id)
            if before.count(step.find) != 1:
                raise ValidationError(
                    f"{step.page} does not hold the text exactly once.",
                    field="find",
                    reason="notOnce",
                )
            body = prepare_body(before.replace(step.find, step.put or ""), ids)
        return EditPage(
            page=page_id,
            expected_version=ANY_VERSION,
            name=prepare_text(step.name, ids) if step.name else UNSET,
            description=prepare_text(step.description, ids) if step.description else UNSET,
            body=body,
        )

    def _place(self, ref: str) -> tuple[str, UUID, str]:
        """The scope, the parent and the key that a ref puts a page under."""
        scope, _, path = ref.partition("#")
        above, _, key = path.rpartition("/")
        return scope, self._find(f"{scope}#{above}"), key

    def _find(self, ref: str) -> UUID:
        scope, _, path = ref.partition("#")
        keys = tuple(key for key in path.split("/") if key)
        reader = self._services.database.reader()
        with reader.reading():
            head = read_head(reader, self._kb_id)
            assert head is not None, "a registered knowledge base has a head"
            configuration = committed_configuration(reader, head)
            way = way_down(configuration, self._kb_id, scope, keys, self._lookup())
        if way is None:
            raise NotFoundError(f'Knowledge page "{ref}" not found.')
        return way[-1].page_id

    def _body(self, page_id: UUID) -> str:
        lookup = self._lookup()
        page = lookup.page(page_id)
        return lookup.text(page.body.text) if page is not None and page.body is not None else ""

    def _lookup(self) -> Lookup:
        reader = self._services.database.reader()
        head = read_head(reader, self._kb_id)
        assert head is not None, "a registered knowledge base has a head"
        texts = TextReader(reader, self._kb_id)
        return self._services.projections.lookup(reader, self._kb_id, head.generation, texts)


def _scopes(step: Step) -> frozenset[str]:
    """The scopes a step names: an unwritten page is found by its id only in scopes held."""
    refs = (step.page, step.to, step.into)
    return frozenset(ref.partition("#")[0] for ref in refs if ref)
