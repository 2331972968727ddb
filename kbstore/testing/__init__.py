"""Testing rules without a database: `given(*history).when(command).then(*events)`.

    from kbstore.domain.commands import EditPage
    from kbstore.domain.events import PageEdited
    from kbstore.testing import given, page, text

    story = given(page("Guide", key="guide"))
    story.when(EditPage(page="$0", expected_version=1, name=text("Handbook"))).then(
        PageEdited(originator_id=story.id(0), originator_version=2, name=text("Handbook").ref)
    )

A history is commands, events and texts. Ids are sequential and texts have an id that depends
on nothing but their value, so every run of a story is the same. `when(..., held=...)` says
which scopes the run holds, under CONFIGURATION unless `given(..., configured=...)` has another.
Each decision is applied to the state, whose tree is checked. Nothing here needs pytest.
"""

from kbstore.testing.kit import Command, Outcome, Past, Story, given
from kbstore.testing.memory import MemoryStore
from kbstore.testing.values import (
    CONFIGURATION,
    HELD,
    KB,
    SCOPE,
    SequentialIds,
    SteppingClock,
    body,
    configuration,
    configure,
    note_text,
    nth_id,
    page,
    text,
)

__all__ = [
    "CONFIGURATION",
    "HELD",
    "KB",
    "SCOPE",
    "Command",
    "MemoryStore",
    "Outcome",
    "Past",
    "SequentialIds",
    "SteppingClock",
    "Story",
    "body",
    "configuration",
    "configure",
    "given",
    "note_text",
    "nth_id",
    "page",
    "text",
]
