"""`kbstore migrate`, `verify` and `rebuild`: keeping a database in shape, and proving it."""

import sys

import click

from api.cli.common import Bar, answer, database_option, knowledge_base, print_json
from api.wiring import locate_database
from projections.projector import Projections
from projections.rebuild import rebuild as rebuild_projections
from projections.verify import verify as verify_knowledge_base


@click.command()
@database_option
def migrate(database: str, as_json: bool) -> None:
    """Create what the schema lacks; safe to run twice."""
    opened = locate_database(database)
    opened.migrate()
    version = opened.schema_version()
    opened.close()
    answer(as_json, {"schemaVersion": version}, f"Schema version {version}.")


@click.command()
@click.argument("kb_address", metavar="KB")
@database_option
def verify(kb_address: str, database: str, as_json: bool) -> None:
    """Prove KB: its digests, its texts, and its projections against a replay."""
    with knowledge_base(database, kb_address) as (services, found), Bar("verify") as bar:
        report = verify_knowledge_base(services.database, found.kb_id, Projections(), bar)
    value = {
        "ok": not report.failures,
        "revision": report.revision,
        "events": report.events,
        "checksum": report.checksum,
        "contentChecksum": report.content_checksum,
        "failures": [{"what": failure.what, "where": failure.where} for failure in report.failures],
    }
    if as_json:
        print_json(value)
    else:
        for failure in report.failures:
            click.echo(f"FAILED {failure.where}: {failure.what}")
        said = "Verified" if not report.failures else "NOT verified:"
        click.echo(
            f"{said} {report.events} events, revision {report.revision}, "
            f"contentChecksum {report.content_checksum}."
        )
    if report.failures:
        sys.exit(1)


@click.command()
@click.argument("kb_address", metavar="KB")
@database_option
def rebuild(kb_address: str, database: str, as_json: bool) -> None:
    """Fill the projections of KB anew from its events, then switch over."""
    with knowledge_base(database, kb_address) as (services, found), Bar("rebuild") as bar:
        built = rebuild_projections(services.database, found.kb_id, Projections(), bar)
    swap = built.swap
    value = {
        "generation": built.generation,
        "revision": built.revision,
        "resumedFrom": built.resumed_from,
        "swapMs": round(swap.milliseconds, 1) if swap else None,
        "swapEvents": swap.events if swap else None,
    }
    went_on = f" from revision {built.resumed_from} on" if built.resumed_from is not None else ""
    said = (
        f"Rebuilt{went_on} to revision {built.revision}; generation {built.generation} is active. "
        f"No write could begin for {swap.milliseconds:.1f} ms, while {swap.events} events were "
        "caught up with."
        if swap
        else f"Generation {built.generation} is active since a rebuild that was killed; the rows "
        "it left are deleted. Run this again to rebuild anew."
    )
    answer(as_json, value, said)
