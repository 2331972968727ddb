"""`decide(command, context) -> Decision`: the one entrance to the rules.

Each rule checks in this order: access to the page, the role, what the command says, whether
it changes anything, the version expected, and last what the tree allows.
"""

from typing import assert_never

from kbstore.domain.commands import (
    AddNote,
    Configure,
    CreateKnowledgeBase,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    Operation,
    RemoveNote,
    RemovePin,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.domain.configuring import configure, create_knowledge_base
from kbstore.domain.decision import Context, Decision
from kbstore.domain.ending import delete
from kbstore.domain.merging import merge
from kbstore.domain.notes import add_note, remove_note, restamp_note
from kbstore.domain.pages import create, edit
from kbstore.domain.pins import remove_pin, set_pin
from kbstore.domain.placing import move
from kbstore.domain.restoring import restore


def decide(  # noqa: C901 -- one line for each command
    command: Operation, context: Context
) -> Decision:
    """What a command comes to, on the state the context shows; writes nothing.

    A batch is decided one operation at a time: apply the events of a decision, then go on with
    `decision.after(context, decision)`. Raises the KBStoreError of the first check that fails.
    """
    match command:
        case CreatePage():
            return create(command, context)
        case EditPage():
            return edit(command, context)
        case MovePage():
            return move(command, context)
        case MergePage():
            return merge(command, context)
        case DeletePage():
            return delete(command, context)
        case RestorePage():
            return restore(command, context)
        case AddNote():
            return add_note(command, context)
        case RestampNote():
            return restamp_note(command, context)
        case RemoveNote():
            return remove_note(command, context)
        case SetPin():
            return set_pin(command, context)
        case RemovePin():
            return remove_pin(command, context)
        case Configure():
            return configure(command, context)
        case CreateKnowledgeBase():
            return create_knowledge_base(command, context)
        case _:
            assert_never(command)
