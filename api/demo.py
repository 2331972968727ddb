"""`make demo`: the sample handbook in a knowledge base of its own, served until Ctrl-C."""

import shutil
import sys
from pathlib import Path

from api.imports.running import Importer
from api.logs import configure_logs
from api.playback import Player, read_steps
from api.serving import DEFAULT_PORT, serve_database
from api.wiring import Services, locate_database, open_services
from kbstore.access import Caller, dump_configuration, load_configuration
from kbstore.domain.commands import Configure
from kbstore.errors import KBStoreError, NotFoundError
from kbstore.ids import format_kb_address
from kbstore.service import CommandRequest
from kbstore.store.catalogue import KnowledgeBase, find_api_key, find_knowledge_base
from kbstore.store.commits import Origin
from kbstore.texts import prepare_text

SAMPLE = Path(__file__).parent / "sample"
FOLDER = Path(".demo")
STORE = FOLDER / "store"
DATABASE = STORE / "kbstore.db"
SLUG = "handbook"
SCOPE = "org:acme"
HELD = frozenset({SCOPE, "team:acme:support", "team:acme:platform"})
OPERATOR = Caller(principal="user:demo", grants=frozenset({"admin"}))


def main() -> None:
    """Makes the demo on its first run, serves it on each."""
    configure_logs("warning")
    try:
        run_demo()
    except KBStoreError as error:
        sys.exit(f"{error.code}: {error.message}")


def run_demo() -> None:
    FOLDER.mkdir(exist_ok=True)
    if not STORE.exists():
        make_database()
    url = url_of(DATABASE)
    # One that an earlier release made has no other way to become one of this release.
    locate_database(url).migrate()
    with open_services(url) as services:
        found = find_knowledge_base(services.database.reader(), SLUG)
        if found is None:
            raise NotFoundError(f"{DATABASE} holds no demo; delete {FOLDER}/ to make it anew.")
        key = demo_key(services, found)
    address = format_kb_address(found.kb_id)

    def greet(server: str) -> None:
        print(greeting(server, address, key), flush=True)

    serve_database(url, "127.0.0.1", DEFAULT_PORT, greet, any_port=True)


def make_database() -> None:
    """Builds the demo beside its place; it comes there, with all its files, once it is whole."""
    building = FOLDER / "building"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    with open_services(url_of(building / DATABASE.name)) as services:
        build_demo(services)
    building.rename(STORE)


def url_of(database: Path) -> str:
    return f"sqlite:///{database.resolve()}"


def build_demo(services: Services) -> KnowledgeBase:
    """The knowledge base with the sample handbook and all that happened to it."""
    origin = Origin(actor=OPERATOR.principal, message="Set up the sample handbook")
    kb_id = services.commands.create_knowledge_base(SLUG, origin)
    found = find_knowledge_base(services.database.reader(), SLUG)
    assert found is not None, "it was created just now"
    text = (SAMPLE / "configuration.toml").read_text(encoding="utf-8")
    configuration = dump_configuration(load_configuration(text, "toml"))
    services.commands.execute(
        CommandRequest(
            kb_id=kb_id,
            caller=OPERATOR,
            command=Configure(configuration=prepare_text(configuration, services.commands.ids)),
            origin=origin,
        )
    ).result()
    importer = Importer(services, found, SCOPE, OPERATOR)
    importer.run_folder(SAMPLE / "handbook", lambda done, total: None)
    player = Player(services, kb_id)
    for step in read_steps(SAMPLE / "history.toml"):
        player.play(step)
    return found


def demo_key(services: Services, knowledge_base: KnowledgeBase) -> str:
    """The demo's key: the one of an earlier run where it still works, else a new one."""
    kept = FOLDER / "key"
    if kept.exists():
        token = kept.read_text(encoding="ascii")
        if find_api_key(services.database.reader(), token) is not None:
            return token
    _, token = services.commands.catalogue.create_key(
        knowledge_base.kb_id, "user:demo", HELD, frozenset({"admin", "auditor"})
    )
    kept.touch(mode=0o600)
    kept.write_text(token, encoding="ascii")
    return token


def greeting(server: str, address: str, key: str) -> str:
    base = f"{server}/openapi/v2/knowledge-bases/{address}"
    auth = f'-H "Authorization: Bearer {key}"'
    return f"""
The sample handbook is served.

  URL  {base}
  key  {key}

Try, in another terminal:

  curl -s {auth} "{base}/pages?ref=org:acme%23policies/refund"

  curl -s {auth} "{base}/pages?ref=org:acme%23policies/refund&revision=3"

  curl -s {auth} "{base}/commits?limit=5"

Ctrl-C ends it; what you change stays in {FOLDER}/.
"""


if __name__ == "__main__":
    main()
