"""What is asked of the routes that read."""

from collections.abc import Iterator

from tests.noninterference.asking import Ask, At, Newest, Place, Time, Value
from tests.noninterference.house import GUILD, OPEN, VAULT
from tests.noninterference.registry import probes
from tests.noninterference.sight import NEVER, Sight
from tests.noninterference.story import KEYS

CURSOR = ("nextCursor", "cursor")


@probes("readPage")
def read_page(sight: Sight) -> Iterator[Ask]:
    for page in [*sight.page_ids(3), str(NEVER)]:
        yield Ask("readPage", "GET", f"/pages/{page}", {**sight.when()})


@probes("findPage")
def find_page(sight: Sight) -> Iterator[Ask]:
    refs = [sight.ref_of(page) for page in sight.draw.some(sight.seen, 2)]
    refs += sight.any_refs(4)
    refs.append(f"{sight.draw.pick(OPEN)}#{sight.draw.pick(KEYS)}")
    refs.append(sight.draw.pick((VAULT, f"{VAULT}#codes", "org:acme#policies/refund")))
    for ref in refs:
        yield Ask("findPage", "GET", "/pages", {"ref": ref, **sight.when()})


@probes("listChildren", "listNotes", "listBacklinks", "listHistory")
def lists_of_pages(sight: Sight) -> Iterator[Ask]:
    paths = {
        "listChildren": "children",
        "listNotes": "notes",
        "listBacklinks": "backlinks",
        "listHistory": "history",
    }
    # A page with a note, so that lists of notes are seldom empty everywhere.
    noted = [str(note.page) for note in sight.draw.some(sight.notes, 1)]
    for name, path in paths.items():
        for page in [*sight.page_ids(), *(noted if name == "listNotes" else ())]:
            query: dict[str, Value] = {**sight.when()}
            if sight.draw.chance(50):
                query["limit"] = sight.draw.number(1, 2)
            if name == "listHistory" and sight.draw.chance(50):
                query["newestFirst"] = True
            yield Ask(name, "GET", f"/pages/{page}/{path}", query, follows=CURSOR)
    for each in sight.famous():
        yield Ask("listBacklinks", "GET", f"/pages/{each.id}/backlinks", {**sight.then()})
        yield Ask("listNotes", "GET", f"/pages/{each.id}/notes", {**sight.then()})
    for scope in sight.draw.some(OPEN, 1):
        tops = [page for page in sight.seen if page.scope == scope and page.parent is None]
        for top in tops:
            yield Ask("listChildren", "GET", f"/pages/{top.id}/children", {**sight.when()})


@probes("listPins")
def list_pins(sight: Sight) -> Iterator[Ask]:
    pinned = {pin.page for pin in sight.told.plain.pins()}
    pages = [str(page.id) for page in sight.seen if page.id in pinned]
    for page in [*sight.draw.some(pages, 2), *sight.page_ids(1)]:
        yield Ask("listPins", "GET", f"/pages/{page}/pins", {**sight.when()})


@probes("readDiff")
def read_diff(sight: Sight) -> Iterator[Ask]:
    pages = [page for page in sight.seen if page.version > 1] or sight.seen
    for page in sight.draw.some(pages, 2):
        versions: dict[str, Value] = {"from": 1, "to": page.version}
        yield Ask("readDiff", "GET", f"/pages/{page.id}/diff", versions)
    for hidden in sight.draw.some(sight.hidden, 1):
        yield Ask("readDiff", "GET", f"/pages/{hidden}/diff", {"from": 1, "to": 1})


@probes("readNote")
def read_note(sight: Sight) -> Iterator[Ask]:
    for note in [*sight.note_ids(), str(NEVER)]:
        yield Ask("readNote", "GET", f"/notes/{note}", {**sight.when()})


@probes("listCommits")
def list_commits(sight: Sight) -> Iterator[Ask]:
    yield Ask("listCommits", "GET", "/commits", {"limit": 200})
    after = At(sight.draw.number(0, sight.last))
    query: dict[str, Value] = {"after": after, "limit": sight.draw.number(1, 4), **sight.when()}
    yield Ask("listCommits", "GET", "/commits", query, follows=CURSOR)


@probes("readCommit")
def read_commit(sight: Sight) -> Iterator[Ask]:
    for index in sight.draw.some(range(sight.last + 1), 4):
        yield Ask("readCommit", "GET", f"/commits/{{at:{index}}}", {})


@probes("listEvents")
def list_events(sight: Sight) -> Iterator[Ask]:
    yield Ask("listEvents", "GET", "/events", {"limit": 200, **sight.when()})
    query: dict[str, Value] = {"limit": sight.draw.number(1, 5), **sight.when()}
    query["after"] = Place(sight.draw.number(0, len(sight.told.plain.positions) - 1))
    match sight.draw.number(0, 3):
        case 0:
            types = ("page.created", "page.edited", "note.added", "pin.set", "pin.removed")
            query["type"] = sight.draw.pick((*types, "page.deleted", "note.restamped"))
        case 1:
            query["actor"] = sight.draw.pick(("user:ana", "user:ben"))
        case 2:
            query["pageId"] = sight.draw.pick(sight.page_ids())
    yield Ask("listEvents", "GET", "/events", query, follows=CURSOR)


@probes("listDeletions")
def list_deletions(sight: Sight) -> Iterator[Ask]:
    yield Ask("listDeletions", "GET", "/deletions", {"limit": 1, **sight.when()}, follows=CURSOR)
    yield Ask("listDeletions", "GET", "/deletions")


@probes("streamEvents")
def stream_events(sight: Sight) -> Iterator[Ask]:
    after = Place(sight.draw.number(0, len(sight.told.plain.positions) // 2))
    yield Ask("streamEvents", "GET", "/events/stream", {"after": after})
    yield Ask("streamEvents", "GET", "/events/stream", headers={"last-event-id": after})


@probes("readActiveRevision")
def read_active(sight: Sight) -> Iterator[Ask]:
    yield Ask("readActiveRevision", "GET", "/revisions/active")
    yield Ask("readActiveRevision", "GET", "/revisions/active", {"minRevision": Newest(3)})
    # What a revision beyond the head says of the head.
    yield Ask("readContext", "GET", "/context", {"revision": Newest(5)})


@probes("readRevisionAt")
def read_revision_at(sight: Sight) -> Iterator[Ask]:
    time = Time(sight.draw.number(0, sight.last - 1))
    yield Ask("readRevisionAt", "GET", "/revisions/at", {"time": time})


@probes("listScopes")
def list_scopes(sight: Sight) -> Iterator[Ask]:
    yield Ask("listScopes", "GET", "/scopes", {**sight.when()})
    yield Ask("listScopes", "GET", "/scopes", {"limit": 1}, follows=CURSOR)


@probes("readConfiguration")
def read_configuration(sight: Sight) -> Iterator[Ask]:
    yield Ask("readConfiguration", "GET", "/configuration")


@probes("listWebhooks", "readWebhook", "listDeadLetters")
def webhooks(sight: Sight) -> Iterator[Ask]:
    yield Ask("listWebhooks", "GET", "/webhooks", {"limit": 1}, follows=CURSOR)
    for webhook in (sight.webhook, sight.foreign_webhook):
        yield Ask("readWebhook", "GET", f"/webhooks/{webhook}")
        path = f"/webhooks/{webhook}/dead-letters"
        yield Ask("listDeadLetters", "GET", path, {"limit": 1}, follows=CURSOR)


@probes("readContext")
def read_context(sight: Sight) -> Iterator[Ask]:
    yield Ask("readContext", "GET", "/context")
    yield Ask("readContext", "GET", "/context", {**sight.when()})
    yield Ask("readContext", "GET", "/context", headers={"kb-scopes": GUILD})


@probes("listTools")
def list_tools(sight: Sight) -> Iterator[Ask]:
    yield Ask("listTools", "GET", "/tools")


@probes("readLiveness", "readReadiness", "readContract")
def about_the_server(sight: Sight) -> Iterator[Ask]:
    yield Ask("readLiveness", "GET", "//health/live")
    yield Ask("readReadiness", "GET", "//health/ready")
    if sight.draw.chance(60):
        yield Ask("readContract", "GET", "//openapi/v2/openapi.json")
