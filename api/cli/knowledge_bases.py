"""`kbstore kb`: create, list and configure knowledge bases."""

from pathlib import Path

import click

from api.cli.common import answer, database_option, knowledge_base, operator
from api.wiring import open_services
from kbstore.access import Configuration, dump_configuration, load_configuration
from kbstore.clock import format_time
from kbstore.domain.commands import Configure
from kbstore.errors import StoreError
from kbstore.ids import format_kb_address
from kbstore.service import CommandRequest
from kbstore.store.catalogue import list_knowledge_bases
from kbstore.store.commits import Origin
from kbstore.store.heads import read_head
from kbstore.texts import prepare_text


@click.group()
def kb() -> None:
    """Knowledge bases."""


@kb.command()
@click.argument("name")
@database_option
def create(name: str, database: str, as_json: bool) -> None:
    """Create a knowledge base; NAME becomes its slug."""
    with open_services(database) as services:
        kb_id = services.commands.create_knowledge_base(name, Origin(actor=operator().principal))
    value = {"id": format_kb_address(kb_id), "slug": name}
    answer(as_json, value, f"Created {name} ({value['id']}).")


@kb.command("list")
@database_option
def list_(database: str, as_json: bool) -> None:
    """List the knowledge bases of a database."""
    with open_services(database) as services:
        reader = services.database.reader()
        items = []
        for found in list_knowledge_bases(reader):
            head = read_head(reader, found.kb_id)
            items.append(
                {
                    "id": format_kb_address(found.kb_id),
                    "slug": found.slug,
                    "createdAt": format_time(found.created_at),
                    "revision": head.revision if head else 0,
                }
            )
    lines = [f"{item['slug']}  {item['id']}  revision {item['revision']}" for item in items]
    answer(as_json, {"items": items}, "\n".join(lines) or "No knowledge bases.")


@kb.command()
@click.argument("kb_address", metavar="KB")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@database_option
def configure(kb_address: str, file: Path, database: str, as_json: bool) -> None:
    """Set the configuration of KB from FILE (.toml or .json)."""
    configuration = read_configuration(file)
    with knowledge_base(database, kb_address) as (services, found):
        caller = operator()
        prepared = prepare_text(dump_configuration(configuration), services.commands.ids)
        outcome = services.commands.execute(
            CommandRequest(
                kb_id=found.kb_id,
                caller=caller,
                command=Configure(configuration=prepared),
                origin=Origin(actor=caller.principal, message=f"configure from {file.name}"),
            )
        ).result()
    value = {"revision": outcome.revision, "changed": outcome.changed}
    said = "Configured" if outcome.changed else "Nothing changed"
    answer(as_json, value, f"{said}; revision {outcome.revision}.")


def read_configuration(file: Path) -> Configuration:
    """The checked configuration in a .toml or .json file."""
    try:
        text = file.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise StoreError(f"{file.name} cannot be read as UTF-8: {error}.") from error
    return load_configuration(text, "json" if file.suffix == ".json" else "toml")
