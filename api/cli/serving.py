"""`kbstore serve`: the HTTP server."""

import click

from api.cli.common import database_option, print_json
from api.logs import LEVELS, configure_logs
from api.serving import DEFAULT_PORT, serve_database


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    envvar="KBSTORE_HOST",
    show_default=True,
    help="The address to listen on.",
)
@click.option(
    "--port",
    default=DEFAULT_PORT,
    envvar="KBSTORE_PORT",
    show_default=True,
    type=click.IntRange(0, 65_535),
    help="The port to listen on; 0 takes a free one.",
)
@click.option(
    "--log-level",
    default="info",
    envvar="KBSTORE_LOG_LEVEL",
    show_default=True,
    type=click.Choice(LEVELS),
    help="What goes to standard error, a JSON object a line.",
)
@click.option(
    "--replica",
    envvar="KBSTORE_REPLICA",
    help="postgresql://..., a read replica of the database, for reads.",
)
@database_option
def serve(
    host: str, port: int, log_level: str, replica: str | None, database: str, as_json: bool
) -> None:
    """Serve the database over HTTP until interrupted; finishes what was accepted."""
    configure_logs(log_level)

    def started(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            click.echo(f"Serving {database} at {url}", err=True)

    serve_database(database, host, port, started, replica_url=replica)
