"""`kbstore serve`: the HTTP server."""

import re

import click

from api.cli.common import database_option, print_json
from api.logs import LEVELS, configure_logs
from api.serving import DEFAULT_PORT, serve_database
from api.settings import Settings, WebhookSettings
from api.webhooks.sending import tls_context
from api.wiring import locate_database

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\s,*]+")


def origin(text: str) -> str:
    """An origin as browsers send it, in lower case."""
    found = text.lower()
    if _ORIGIN.fullmatch(found) is None:
        raise click.BadParameter(f"{text!r}: write https://HOST or https://HOST:PORT.")
    return found


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
@click.option(
    "--webhooks-allow-private",
    is_flag=True,
    envvar="KBSTORE_WEBHOOKS_ALLOW_PRIVATE",
    help="Let webhooks lead to private addresses, and over plain HTTP.",
)
@click.option(
    "--webhooks-ca-file",
    envvar="KBSTORE_WEBHOOKS_CA_FILE",
    help="Certificates (PEM) to trust in receivers, besides the system's.",
)
@click.option(
    "--allow-origin",
    multiple=True,
    type=origin,
    envvar="KBSTORE_ALLOW_ORIGIN",
    help="The origin of web pages that may speak MCP, https://HOST; may repeat.",
)
@database_option
def serve(
    host: str,
    port: int,
    log_level: str,
    replica: str | None,
    webhooks_allow_private: bool,
    webhooks_ca_file: str | None,
    allow_origin: tuple[str, ...],
    database: str,
    as_json: bool,
) -> None:
    """Serve the database over HTTP until interrupted; finishes what was accepted."""
    configure_logs(log_level)
    # A URL may hold a password.
    name = locate_database(database).name

    def started(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            click.echo(f"Serving {name} at {url}", err=True)

    if webhooks_ca_file is not None:
        # A file that cannot be used is better told now than at the first delivery.
        tls_context(webhooks_ca_file)
    webhooks = WebhookSettings(allow_private=webhooks_allow_private, ca_file=webhooks_ca_file)
    settings = Settings(webhooks=webhooks, allowed_origins=allow_origin)
    serve_database(database, host, port, started, replica_url=replica, settings=settings)
