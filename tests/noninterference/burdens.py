"""What one world has for itself on or below a page that both have, so that what happens to the
page would be told differently, or could not be told at all."""

from uuid import UUID

from tests.noninterference.house import OPEN
from tests.noninterference.story import Told
from tests.noninterference.world import PageAt


def has_hidden_below(told: Told, page: PageAt) -> bool:
    """Whether one of the worlds has a page of its own below this one, or a note of its own
    there that is in the open for now: its end could not be told where its page has ended."""
    shared, notes = set(told.pages), set(told.notes)
    for world in told.worlds:
        parents = {each.id: each.parent for each in world.pages()}
        own = [each for each in parents if each not in shared]
        own += [
            note.page
            for note in world.notes()
            if note.id not in notes and not set(note.stamps).isdisjoint(OPEN)
        ]
        for each in own:
            here: UUID | None = each
            while here is not None and here != page.id:
                here = parents.get(here)
            if here is not None:
                return True
    return False


def is_burdened(told: Told, page: PageAt) -> bool:
    """Whether a merge would carry along what is hidden: the commit would show as one of
    which the reader sees only a part, and so tell him of it."""
    if has_hidden_below(told, page):
        return True
    shared = set(told.notes)
    return any(
        any(
            note.page == page.id and (note.id not in shared or not set(note.stamps) <= set(OPEN))
            for note in world.notes()
        )
        or any(pin.page == page.id and not set(pin.audience) <= set(OPEN) for pin in world.pins())
        for world in told.worlds
    )
