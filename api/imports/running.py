"""Running an import: plan against the pages as they are, write, and follow with the mirror.

The planner works on a mirror of the scope's pages. Every operation states the version it was
planned on; where another writer was quicker, the mirror is read anew and the plan made again.
"""

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from api.imports.folder import read_folder
from api.imports.mirror import Mirror, read_mirror
from api.imports.oplog import LogLine, read_log, survey_log
from api.imports.plan import Plan
from api.imports.planner import FolderTree, Texts, plan_folder, plan_line
from api.imports.translating import operations_of
from api.wiring import Services
from kbstore.access import (
    OPERATOR,
    Caller,
    Pattern,
    declare_scope,
    dump_configuration,
    is_declared,
)
from kbstore.clock import micros_of
from kbstore.domain.commands import Batch, Configure
from kbstore.errors import (
    AbsentError,
    ConflictError,
    ImportInvalidError,
    InvalidError,
    KBStoreError,
    KeyTakenError,
    NotFoundError,
    VersionConflictError,
)
from kbstore.limits import IMPORT_PAGES_PER_LINE_MAX
from kbstore.service import CommandRequest, Outcome
from kbstore.store.catalogue import KnowledgeBase
from kbstore.store.commits import Head, Origin
from kbstore.store.heads import read_head
from kbstore.store.idempotency import Claim, StoredClaim, find_claim
from kbstore.store.texts import TextReader
from kbstore.surroundings import committed_configuration
from kbstore.text import analyse
from kbstore.texts import prepare_text

ANALYSES_KEPT = 512
ATTEMPTS_MAX = 8
Progress = Callable[[int, int | None], None]
_LOST_RACE = (VersionConflictError, KeyTakenError, NotFoundError)
_REFUSED = (InvalidError, AbsentError, ConflictError)


class ImportReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an import did. `revisions` names for each line of a log the revision that shows it;
    `keyless` counts the files passed over that an export wrote for the scope page or for pages
    without a key, and is left out for none."""

    commits: int
    created: int
    edited: int
    moved: int
    deleted: int
    unchanged: int
    revisions: dict[int, int]
    keyless: int = 0


class Importer:
    """Imports into one scope of one knowledge base, as an operator."""

    def __init__(
        self, services: Services, knowledge_base: KnowledgeBase, scope: str, operator: Caller
    ) -> None:
        self._services = services
        self._kb_id = knowledge_base.kb_id
        self._scope = scope
        self._operator = operator
        self._mirror: Mirror | None = None
        self._commits = 0
        self._counts: dict[str, int] = dict.fromkeys(
            ("created", "edited", "moved", "deleted", "unchanged"), 0
        )
        # Naming a page and preparing its body ask for the same analysis.
        self._analyse = lru_cache(maxsize=ANALYSES_KEPT)(analyse)
        self._texts = Texts(title_of=lambda body: self._analyse(body).title, body_of=self._body_of)

    def run_log(self, path: Path, progress: Progress) -> ImportReport:
        """Imports an operation log, line by line, each line a commit.

        The whole log is checked first, but for what only the pages can tell: a line that does
        not fit them is refused after the lines before it are committed. Lines that an earlier
        run committed are passed over. Raises ImportInvalidError with the line.
        """
        survey = survey_log(path)
        self._declare_scope()
        revisions: dict[int, int] = {}
        leading: list[int] = []
        last: int | None = None
        for done, (number, line) in enumerate(read_log(path), 1):
            claim = self._claim(survey.sha256, line)
            stored = find_claim(self._services.database.reader(), self._kb_id, claim)
            if stored is None:
                stored = self._write_line(line, number, claim)
            if last is None and stored.revision is not None:
                # What comes before the first commit of the log has the revision before it.
                revisions.update(dict.fromkeys(leading, stored.revision - 1))
            last = last if stored.revision is None else stored.revision
            if last is None:
                leading.append(line.n)
            else:
                revisions[line.n] = last
            progress(done, survey.lines)
        if last is None:
            revisions.update(dict.fromkeys(leading, self._head().revision))
        return self._report(revisions)

    def run_folder(self, path: Path, progress: Progress) -> ImportReport:
        """Imports a folder or a .zip of Markdown files in one commit; checks all of it first."""
        folder = read_folder(path)
        self._declare_scope()
        origin = Origin(actor=self._operator.principal, message=f"import {path.name}")
        self._write(lambda tree: plan_folder(tree, folder.files, self._texts), origin)
        progress(len(folder.files), len(folder.files))
        return self._report({}, folder.keyless)

    def _write_line(self, line: LogLine, number: int, claim: Claim) -> StoredClaim:
        origin = Origin(
            actor=line.principal,
            message=f"line {line.n}",
            occurred_at=micros_of(line.at),
        )
        outcome = self._write(
            lambda tree: plan_line(tree, line.ops, self._texts, line=number), origin, claim, number
        )
        return StoredClaim(outcome.revision if outcome.changed else None, outcome.subjects)

    def _write(
        self,
        plan: Callable[[FolderTree], Plan],
        origin: Origin,
        claim: Claim | None = None,
        line: int | None = None,
    ) -> Outcome:
        """Raises ImportInvalidError, with the line, where the rules refuse what was planned."""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            tree = self._pages().tree
            planned = plan(tree)
            try:
                outcome = self._execute(planned, origin, claim)
            except _REFUSED as refusal:
                self._mirror = None
                if isinstance(refusal, _LOST_RACE) and attempt < ATTEMPTS_MAX:
                    continue
                raise _refused(refusal, line) from refusal
            if not outcome.replayed:
                self._follow(tree, planned, outcome)
            return outcome
        raise AssertionError("the last attempt returns or raises")

    def _execute(self, plan: Plan, origin: Origin, claim: Claim | None) -> Outcome:
        caller = Caller(principal=origin.actor, grants=frozenset({OPERATOR}))
        operations = operations_of(plan, self._scope, self._services.commands.ids, self._analyse)
        request = CommandRequest(
            kb_id=self._kb_id,
            caller=caller,
            command=Batch(operations=operations, pages_max=IMPORT_PAGES_PER_LINE_MAX),
            origin=origin,
            claim=claim,
        )
        return self._services.commands.execute(request).result()

    def _follow(self, tree: FolderTree, plan: Plan, outcome: Outcome) -> None:
        created = {
            index: subject.id for index, subject in enumerate(outcome.subjects) if subject.created
        }
        tree.apply(plan, created)
        if outcome.changed:
            self._commits += 1
        for name in self._counts:
            self._counts[name] += getattr(plan.counts, name)

    def _pages(self) -> Mirror:
        """The pages of the scope as the store has them now."""
        if self._mirror is None:
            reader = self._services.database.reader()
            with reader.reading():
                self._mirror = read_mirror(self._services, reader, self._head(), self._scope)
        return self._mirror

    def _body_of(self, page_id: UUID) -> str:
        """A page's body as it stands; only ever asked of pages that have one."""
        reader = self._services.database.reader()
        # In one snapshot: a rebuild deletes the rows of the generation before.
        with reader.reading():
            head, texts = self._head(), TextReader(reader, self._kb_id)
            lookup = self._services.projections.lookup(reader, self._kb_id, head.generation, texts)
            page = lookup.page(page_id)
            if page is not None:
                return texts.text(page.body.text) if page.body is not None else ""
        return self._pages().unwritten.get(page_id, "")

    def _head(self) -> Head:
        head = read_head(self._services.database.reader(), self._kb_id)
        assert head is not None, "a registered knowledge base has a head"
        return head

    def _claim(self, log_sha256: str, line: LogLine) -> Claim:
        key = f"import:{log_sha256}:{self._scope}:{line.n}"
        return Claim(
            principal=line.principal,
            key=key,
            request_sha256=sha256(key.encode()).digest(),
            kept=True,
        )

    def _declare_scope(self) -> None:
        """Declares the scope when no declaration matches it: holding it makes its owner."""
        reader = self._services.database.reader()
        with reader.reading():
            configuration = committed_configuration(reader, self._head())
        if is_declared(configuration, self._scope):
            return
        declared = declare_scope(configuration, Pattern.parse(self._scope))
        text = prepare_text(dump_configuration(declared), self._services.commands.ids)
        self._services.commands.execute(
            CommandRequest(
                kb_id=self._kb_id,
                caller=self._operator,
                command=Configure(configuration=text),
                origin=Origin(actor=self._operator.principal, message=f"declare {self._scope}"),
            )
        ).result()

    def _report(self, revisions: dict[int, int], keyless: int = 0) -> ImportReport:
        return ImportReport(
            commits=self._commits, revisions=revisions, keyless=keyless, **self._counts
        )


def _refused(refusal: KBStoreError, line: int | None) -> ImportInvalidError:
    """What the rules of the store refuse of a plan, told as what the import is refused for."""
    message, reason = refusal.message, refusal.code.lower()
    if line is None:
        return ImportInvalidError(message, reason=reason)
    return ImportInvalidError(
        f"line {line}: {message} The lines before it are in the store.", line=line, reason=reason
    )
