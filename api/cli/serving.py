"""`kbstore serve`: the HTTP server."""

import click

from api.cli.common import database_option, print_json
from api.serving import DEFAULT_PORT, serve_database


@click.command()
@click.option("--host", default="127.0.0.1", envvar="KBSTORE_HOST", show_default=True)
@click.option("--port", default=DEFAULT_PORT, envvar="KBSTORE_PORT", show_default=True, type=int)
@database_option
def serve(host: str, port: int, database: str, as_json: bool) -> None:
    """Serve the database over HTTP until interrupted; finishes what was accepted."""

    def started(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            click.echo(f"Serving {database} at {url}", err=True)

    serve_database(database, host, port, started)
