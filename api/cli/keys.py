"""`kbstore key`: make, list and revoke API keys."""

import click

from api.cli.common import answer, database_option, knowledge_base
from api.wiring import open_services
from kbstore.access import parse_address, parse_principal
from kbstore.clock import format_time
from kbstore.store.catalogue import ApiKey


@click.group()
def key() -> None:
    """API keys."""


@key.command()
@click.option("--kb", "kb_address", required=True, help="Knowledge base, by id or slug.")
@click.option("--principal", required=True, help="Who acts: agent:, user: or service: and a name.")
@click.option("--hold", multiple=True, help="A scope the key holds; may repeat.")
@click.option("--admin", is_flag=True, help="May configure the knowledge base.")
@click.option("--auditor", is_flag=True, help="Reads everything, all history.")
@database_option
def create(
    kb_address: str,
    principal: str,
    hold: tuple[str, ...],
    admin: bool,
    auditor: bool,
    database: str,
    as_json: bool,
) -> None:
    """Make a key; it is shown this once."""
    held = frozenset(parse_address(address, "hold") for address in hold)
    grants = frozenset(name for name, given in (("admin", admin), ("auditor", auditor)) if given)
    with knowledge_base(database, kb_address) as (services, found):
        made, token = services.commands.catalogue.create_key(
            found.kb_id, parse_principal(principal), held, grants
        )
    answer(as_json, {"keyId": made.key_id, "key": token}, token)


@key.command("list")
@click.option("--kb", "kb_address", required=True, help="Knowledge base, by id or slug.")
@database_option
def list_(kb_address: str, database: str, as_json: bool) -> None:
    """List the keys of a knowledge base; secrets are not kept."""
    with knowledge_base(database, kb_address) as (services, found):
        keys = services.commands.catalogue.list_keys(found.kb_id)
    items = [
        {
            "keyId": found.key_id,
            "principal": found.principal,
            "held": sorted(found.held),
            "grants": sorted(found.grants),
            "createdAt": format_time(found.created_at),
            "revokedAt": None if found.revoked_at is None else format_time(found.revoked_at),
        }
        for found in keys
    ]
    answer(as_json, {"items": items}, "\n".join(map(_line, keys)) or "No keys.")


def _line(key: ApiKey) -> str:
    parts = [key.key_id, key.principal, f"holds {', '.join(sorted(key.held)) or 'nothing'}"]
    if key.grants:
        parts.append(f"grants {', '.join(sorted(key.grants))}")
    if key.revoked_at is not None:
        parts.append("revoked")
    return "  ".join(parts)


@key.command()
@click.argument("key_id", metavar="KEY_ID")
@database_option
def revoke(key_id: str, database: str, as_json: bool) -> None:
    """Make a key stop working at once."""
    with open_services(database) as services:
        services.commands.catalogue.revoke_key(key_id)
    answer(as_json, {"keyId": key_id, "revoked": True}, f"Revoked {key_id}.")
