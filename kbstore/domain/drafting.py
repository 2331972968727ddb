"""Collecting the events and the texts of one decision."""

from msgspec import Struct
from msgspec.structs import replace

from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.declared import DeclaredPage
from kbstore.domain.events import CONFIG_AUTHOR, Event, Links, PageCreated
from kbstore.domain.preparing import prepare_body
from kbstore.domain.state import PageState
from kbstore.texts import PreparedBody, PreparedText, prepare_text


class Target(Struct, frozen=True):
    """A live page a command is about. `unwritten` are the declared pages that come to be with
    the first write, from the top down to the page itself; empty for a written page."""

    page: PageState
    unwritten: tuple[DeclaredPage, ...] = ()


class Draft:
    """The events and texts of one decision, in the order they are added."""

    def __init__(self, context: Context) -> None:
        self._ids = context.ids
        self._events: list[Event] = []
        self._texts: list[PreparedText] = []

    def add(self, event: Event, *texts: PreparedText | PreparedBody | None) -> None:
        """One more event, with the new texts it names; those behind its links come along."""
        self._events.append(event)
        for prepared in texts:
            text = prepared.text if isinstance(prepared, PreparedBody) else prepared
            if text is not None:
                self._texts.append(text)
                if text.targets is not None:
                    self._texts.append(text.targets)

    def write(self, target: Target) -> PageState:
        """The page as it stands written: a declared one, and all above it, is created first.

        To be called once for a target. The links of a declared page stay unbound: nobody in
        particular wrote them, so each reader resolves them.
        """
        for declared in target.unwritten:
            self._create_declared(declared)
        version = 1 if target.unwritten else target.page.version
        return replace(target.page, version=version)

    def decision(self, subject: Subject) -> Decision:
        return Decision(events=tuple(self._events), texts=tuple(self._texts), subjects=(subject,))

    def _create_declared(self, declared: DeclaredPage) -> None:
        name = prepare_text(declared.name, self._ids)
        description = (
            prepare_text(declared.description, self._ids) if declared.description else None
        )
        body = None if declared.body is None else prepare_body(declared.body, self._ids)
        targets = body.text.targets if body else None
        event = PageCreated(
            originator_id=declared.page_id,
            originator_version=1,
            scope=declared.scope,
            parent_id=declared.parent_id,
            key=declared.path[-1] if declared.path else None,
            name=name.ref,
            description=description.ref if description else None,
            body=body.ref if body else None,
            links=Links(targets.ref) if targets else None,
            template=declared.template,
            author=CONFIG_AUTHOR,
        )
        self.add(event, name, description, body)


def unchanged(subject: Subject) -> Decision:
    """The decision of a command that changes nothing."""
    return Decision(subjects=(subject,))
