"""Pages with bodies of 4 KiB, as the targets of reading name them."""

from collections.abc import Iterable
from uuid import UUID

from api.wiring import open_services
from benchmarks.stores import Store, write
from benchmarks.writing import Writer
from kbstore.domain.commands import EditPage
from kbstore.domain.preparing import prepare_body

BODY_BYTES = 4 * 1_024


def large_body(writer: Writer) -> str:
    """Two of its bodies, cut to 4 KiB; all letters take one byte."""
    return (writer.body() + writer.body())[: BODY_BYTES - 1] + "\n"


def enlarge(store: Store, pages: Iterable[UUID]) -> None:
    """Gives pages of a fresh store another version, with a large body."""
    writer = Writer(2)
    with open_services(store.url) as services:
        ids = services.commands.ids
        editing = (
            EditPage(
                page=page,
                expected_version=len(store.revisions),
                body=prepare_body(large_body(writer), ids),
            )
            for page in pages
        )
        for _ in write(services, store.kb_id, editing):
            pass
