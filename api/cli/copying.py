"""`kbstore copy`: knowledge bases from one database to another, whatever back ends they have."""

from collections.abc import Sequence
from contextlib import closing

import click

from api.cli.common import Bar, answer, database_option, require_knowledge_base
from api.wiring import locate_database, open_database
from kbstore.errors import StoreError
from kbstore.ids import format_kb_address
from kbstore.store.catalogue import KnowledgeBase, list_knowledge_bases
from kbstore.store.database import Database
from projections.copying import Copied, copy_knowledge_base, end_copying
from projections.projector import Projections


@click.command()
@click.option("--from", "source", metavar="URL", help="Copy from here; else from --database.")
@click.option("--to", "target", metavar="URL", required=True, help="Copy to here.")
@click.option("--kb", "addresses", metavar="KB", multiple=True, help="Copy this one; may repeat.")
@database_option
def copy(
    source: str | None, target: str, addresses: tuple[str, ...], database: str, as_json: bool
) -> None:
    """Copy knowledge bases to another database and prove that they are the same there."""
    with closing(_existing(source or database)) as here, closing(open_database(target)) as there:
        copied = []
        for found in _chosen(here, addresses):
            with Bar(f"copy {found.slug}") as bar:
                copied.append(copy_knowledge_base(here, there, found, Projections(), bar))
        end_copying(there, copied)
    lines = [
        f"Copied {each.slug} up to revision {each.revision}, digest {each.digest.hex()}, "
        f"checksum {each.checksum}, contentChecksum {each.content_checksum}."
        for each in copied
    ]
    answer(
        as_json,
        {"items": [_described(each) for each in copied]},
        "\n".join(lines) or "There is no knowledge base to copy.",
    )


def _existing(url: str) -> Database:
    """The database that is copied: a mistyped path must not make one."""
    database = locate_database(url)
    if database.is_new():
        raise StoreError(f"There is no database {database.name} to copy from.")
    database.check_migrated()
    return database


def _chosen(database: Database, addresses: Sequence[str]) -> list[KnowledgeBase]:
    if not addresses:
        return list_knowledge_bases(database.reader())
    chosen = (require_knowledge_base(database, address) for address in addresses)
    return list({found.kb_id: found for found in chosen}.values())


def _described(copied: Copied) -> dict[str, object]:
    return {
        "id": format_kb_address(copied.kb_id),
        "slug": copied.slug,
        "revision": copied.revision,
        "digest": copied.digest.hex(),
        "checksum": copied.checksum,
        "contentChecksum": copied.content_checksum,
        "resumedFrom": copied.resumed_from,
    }
