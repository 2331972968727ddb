"""`kbstore import` and `kbstore export`: bringing texts in and out."""

from pathlib import Path

import click
import msgspec

from api.cli.common import Bar, answer, database_option, knowledge_base, operator
from api.exporting import export_scope
from api.imports.running import Importer
from kbstore.access import parse_address
from kbstore.errors import StoreError

LOG_SUFFIXES = (".jsonl", ".jsonl.xz")


@click.command("import")
@click.argument("kb_address", metavar="KB")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--scope", required=True, help="The scope to import into.")
@database_option
def import_(kb_address: str, path: Path, scope: str, database: str, as_json: bool) -> None:
    """Import PATH into KB: an operation log (.jsonl, .jsonl.xz), a folder or a .zip.

    Each line of a log becomes a commit; a folder becomes one. A killed import resumes, and a
    second one changes nothing.
    """
    address = parse_address(scope, "scope")
    with knowledge_base(database, kb_address) as (services, found), Bar(path.name) as bar:
        importer = Importer(services, found, address, operator())
        is_log = path.is_file() and path.name.endswith(LOG_SUFFIXES)
        report = importer.run_log(path, bar) if is_log else importer.run_folder(path, bar)
    value = msgspec.to_builtins(report, str_keys=True)
    answer(
        as_json,
        value,
        f"Imported {path.name} into {address}: {_commits(report.commits)}; pages created "
        f"{report.created}, edited {report.edited}, moved {report.moved}, "
        f"deleted {report.deleted}, unchanged {report.unchanged}." + _passed_over(report.keyless),
    )


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"


def _passed_over(keyless: int) -> str:
    return f" Passed over: {keyless} files of pages that no keys lead to." if keyless else ""


@click.command()
@click.argument("kb_address", metavar="KB")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--scope", required=True, help="The scope to export.")
@click.option("--revision", type=click.IntRange(min=1), help="The head where left out.")
@database_option
def export(
    kb_address: str,
    folder: Path,
    scope: str,
    revision: int | None,
    database: str,
    as_json: bool,
) -> None:
    """Write the pages of a scope into a new FOLDER as Markdown files."""
    if folder.exists() and any(folder.iterdir()):
        raise StoreError(f"{folder} is not empty; name a new folder.")
    address = parse_address(scope, "scope")
    with knowledge_base(database, kb_address) as (services, found), Bar("export") as bar:
        report = export_scope(services.database, found.kb_id, address, revision, folder, bar)
    answer(
        as_json,
        msgspec.to_builtins(report),
        f"Exported {report.files} files of {address} at revision {report.revision}; "
        f"SHA-256 {report.sha256}.",
    )
