"""The configuration in force, as canonical JSON whatever it was written in."""

from sqlalchemy import delete

from kbstore.access import dump_configuration, load_configuration
from kbstore.domain.events import KnowledgeBaseConfigured
from kbstore.store.statements import Statement
from projections.intervals import began_now, end_rows, of_kb, open_row
from projections.rows import encode_ref
from projections.step import Step
from projections.tables import configurations

_FORGET = Statement(delete(configurations).where(of_kb(configurations), began_now(configurations)))
_END = Statement(end_rows(configurations))
_OPEN = Statement(open_row(configurations))


def apply_configured(step: Step, event: KnowledgeBaseConfigured) -> None:
    """The configuration of this revision; a second one in a commit replaces the first."""
    text = step.texts.text(event.configuration)
    if event.format == "toml":
        text = dump_configuration(load_configuration(text, "toml"))
    step.run(_FORGET, {})
    step.run(_END, {})
    step.run(_OPEN, {"text_ref": encode_ref(event.configuration), "configuration": text})
