"""The command line. Each command is thin: it parses, calls, and prints.

Every command takes `--database` and `--json` (one JSON object on standard output); progress
goes to standard error, and the exit code is 0 only on success.
"""

import click

from api.cli.copying import copy
from api.cli.data import export, import_
from api.cli.keys import key
from api.cli.knowledge_bases import kb
from api.cli.maintenance import migrate, rebuild, verify
from api.cli.serving import serve
from api.logs import configure_logs


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kbstore")
def main() -> None:
    """kbstore: an event-sourced knowledge store with a versioned write API."""
    configure_logs("warning")


for command in (serve, migrate, copy, kb, key, import_, export, verify, rebuild):
    main.add_command(command)
