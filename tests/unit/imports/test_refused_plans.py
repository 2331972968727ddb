"""What the rules refuse of a plan names the line, whatever the refusal is."""

from pathlib import Path

import pytest

from api.imports import running
from api.imports.plan import Plan
from api.imports.running import Importer
from api.wiring import open_services
from kbstore.access import OPERATOR, Caller
from kbstore.errors import ImportInvalidError, KBStoreError, KeyTakenError, TooManyPagesError
from kbstore.service import Outcome
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.commits import Origin
from kbstore.store.idempotency import Claim

LOG = (
    '{"n":1,"at":"2024-01-01T00:00:00Z","actor":"mira","ops":[]}\n'
    '{"n":2,"at":"2024-01-02T00:00:00Z","actor":"mira","ops":'
    '[{"op":"write","path":"a.md","text":"# A"}]}\n'
)
PAGE = "01890000-0000-7000-8000-000000000000"
REFUSALS: list[tuple[KBStoreError, int]] = [
    (KeyTakenError("The key is taken.", key="a", pageId=PAGE), running.ATTEMPTS_MAX),
    (TooManyPagesError("These are too many.", maximum=1), 1),
]


@pytest.mark.parametrize(("refusal", "attempts"), REFUSALS, ids=lambda value: str(value))
def test_a_refusal_of_the_rules_names_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: KBStoreError, attempts: int
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(LOG)
    tried = []
    with open_services(f"sqlite:///{tmp_path / 'kb.db'}") as services:
        services.commands.create_knowledge_base("kb", Origin(actor="user:root"))
        found = find_knowledge_base(services.database.reader(), "kb")
        assert found is not None
        caller = Caller(principal="user:root", grants=frozenset({"admin", OPERATOR}))
        importer = Importer(services, found, "org:acme", caller)
        execute = Importer._execute

        def refuse(self: Importer, plan: Plan, origin: Origin, claim: Claim | None) -> Outcome:
            if plan.operations:
                tried.append(plan)
                raise refusal
            return execute(self, plan, origin, claim)

        monkeypatch.setattr(Importer, "_execute", refuse)
        with pytest.raises(ImportInvalidError) as refused:
            importer.run_log(log, lambda done, total: None)
    assert refused.value.details == {"line": 2, "reason": refusal.code.lower()}
    assert refusal.message in refused.value.message
    assert len(tried) == attempts
