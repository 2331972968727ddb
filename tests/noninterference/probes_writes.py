"""What is asked of the routes and the tools that write: what is refused, what goes through, and
dry runs of it. A pair of worlds is used up by its questions, so nothing has to be undone."""

import json
from collections.abc import Iterator

from kbstore.access import dump_configuration, load_configuration
from tests.noninterference.asking import Ask, At, Newest, Place, Value
from tests.noninterference.house import CONFIGURATION, CRYPT, GUILD, OPEN, ORG, VAULT
from tests.noninterference.probes_tools import call
from tests.noninterference.registry import probes, tool_probes
from tests.noninterference.sight import NEVER, Sight
from tests.noninterference.story import KEYS, NAMES, markdown

ANY = {"if-match": "*"}
EDITS = ("editor", "owner")
ADDS = ("contributor", "editor", "owner")


def _operations(sight: Sight) -> Iterator[dict[str, Value]]:
    """Operations of a commit, of every kind."""
    draw = sight.draw
    owned, edited = sight.at_role("owner"), sight.at_role(*EDITS)
    if not sight.below:
        return
    page, into = str(draw.pick(owned).id), str(draw.pick(owned).id)
    other = draw.pick(edited)
    yield {"op": "merge", "page": page, "into": into, "expectedVersion": "any",
           "intoVersion": "any", "onKeyCollision": draw.pick(("fail", "rename"))}  # fmt: skip
    yield {"op": "delete", "page": page, "expectedVersion": "any", "subtree": True}
    yield {"op": "delete", "page": str(draw.pick(owned).id), "expectedVersion": "any"}
    yield {"op": "move", "page": page, "expectedVersion": "any", "parent": into}
    yield {"op": "edit", "page": str(other.id), "expectedVersion": other.version,
           "body": markdown(draw, sight.seen)}  # fmt: skip
    yield {"op": "edit", "page": str(draw.pick(sight.hidden)), "expectedVersion": 1, "name": "Mine"}
    for page_id in draw.some(sight.ended, 1):
        yield {"op": "restore", "page": str(page_id), "expectedVersion": "any", "key": None}
    yield {"op": "create", "scope": draw.pick((ORG, VAULT)), "name": draw.pick(NAMES),
           "key": draw.pick(KEYS)}  # fmt: skip
    for note in draw.some(sight.notes, 1):
        yield {"op": "restampNote", "note": str(note.id), "scope": [*draw.part(OPEN)]}
        yield {"op": "removeNote", "note": str(note.id)}
    for note_id in draw.some(sight.told.hidden_notes, 1):
        yield {"op": "removeNote", "note": str(note_id)}
    kind = draw.pick(("page", "list"))
    yield {"op": "pin", "page": str(other.id), "kind": kind, "audience": [GUILD]}
    yield {"op": "unpin", "page": str(other.id), "kind": kind}


@probes("commit")
def commit(sight: Sight) -> Iterator[Ask]:
    for operation in _operations(sight):
        body: dict[str, Value] = {"dryRun": True, "operations": [operation]}
        yield Ask("commit", "POST", "/commits", body=body)
    # Both worlds have gone on since, so both tell what has changed.
    since = At(sight.draw.number(1, max(1, sight.last - 2)))
    edit = {"op": "create", "scope": GUILD, "name": "In a commit"}
    stale: dict[str, Value] = {"expectedRevision": since, "operations": [edit]}
    yield Ask("commit", "POST", "/commits", body=stale)
    yield Ask(
        "commit", "POST", "/commits", body={"expectedRevision": Newest(), "operations": [edit]}
    )


@probes("createPage")
def create_page(sight: Sight) -> Iterator[Ask]:
    draw = sight.draw
    for scope in (*sight.reader.scopes(*ADDS)[:2], VAULT):
        tops = [page for page in sight.seen if page.scope == scope]
        body: dict[str, Value] = {"scope": scope, "name": draw.pick(NAMES), "key": draw.pick(KEYS)}
        body["body"] = markdown(draw, sight.seen)
        if tops and draw.chance(60):
            body["parent"] = str(draw.pick(tops).id)
        yield Ask("createPage", "POST", "/pages", body=body)
    for hidden in draw.some(sight.hidden, 1):
        body = {"scope": draw.pick((ORG, VAULT)), "parent": str(hidden), "name": "Mine"}
        yield Ask("createPage", "POST", "/pages", body=body)


@probes("editPage")
def edit_page(sight: Sight) -> Iterator[Ask]:
    for page in sight.draw.some(sight.at_role(*EDITS), 2):
        body: dict[str, Value] = {"body": markdown(sight.draw, sight.seen)}
        # An older version: the refusal tells of what has been since.
        stale = {"if-match": f'"{max(1, page.version - 1)}"'}
        if page.version > 1:
            yield Ask("editPage", "PATCH", f"/pages/{page.id}", body=body, headers=stale)
        headers = {**ANY, "idempotency-key": sight.claim()}
        yield Ask("editPage", "PATCH", f"/pages/{page.id}", body=body, headers=headers)
        yield Ask("editPage", "PATCH", f"/pages/{page.id}", body=body, headers=headers)
    for hidden in sight.draw.some(sight.hidden, 1):
        body = {"name": "Mine"}
        yield Ask("editPage", "PATCH", f"/pages/{hidden}", body=body, headers=ANY)


@probes("addNote", "restampNote", "removeNote")
def notes(sight: Sight) -> Iterator[Ask]:
    draw = sight.draw
    held = sight.reader.scopes(*ADDS)
    for page in draw.some(sight.at_role(*ADDS), 1):
        body: dict[str, Value] = {"text": "Noted [[Handbook]]", "scope": [*draw.part(held)]}
        yield Ask("addNote", "POST", f"/pages/{page.id}/notes", body=body)
        body = {"text": "Noted", "scope": [draw.pick((VAULT, CRYPT))]}
        yield Ask("addNote", "POST", f"/pages/{page.id}/notes", body=body)
    edited = {page.id for page in sight.at_role(*EDITS)}
    mine = [note for note in sight.notes if note.page in edited] or sight.notes
    ids = [str(note.id) for note in draw.some(mine, 2)]
    for note in [*ids, *(str(each) for each in draw.some(sight.told.hidden_notes, 1))]:
        body = {"scope": [*draw.part(held)]}
        yield Ask("restampNote", "PATCH", f"/notes/{note}", body=body)
        yield Ask("removeNote", "DELETE", f"/notes/{note}")


@probes("setPin", "removePin")
def pins(sight: Sight) -> Iterator[Ask]:
    draw = sight.draw
    pages = [str(page.id) for page in draw.some(sight.at_role(*EDITS), 2)]
    for page in [*pages, *(str(each) for each in draw.some(sight.hidden, 1))]:
        kind = draw.pick(("page", "list"))
        path = f"/pages/{page}/pins/{kind}"
        audience = sight.reader.scopes(*EDITS) or (GUILD,)
        yield Ask("setPin", "PUT", path, body={"audience": [*draw.part(audience)]})
        if draw.chance(70):
            yield Ask("removePin", "DELETE", path)


@tool_probes("knowledge_note", "knowledge_pin", "knowledge_page")
def tools(sight: Sight) -> Iterator[Ask]:
    draw = sight.draw
    held = sight.reader.scopes(*ADDS)
    for page in draw.some(sight.at_role(*EDITS), 1):
        ref = sight.ref_of(page)
        yield call(
            "knowledge_note",
            {"op": "add", "page": ref, "text": "By a tool", "scope": [*draw.part(held)]},
        )
        audience = sight.reader.scopes(*EDITS) or (GUILD,)
        pin = {"page": ref, "audience": [*audience], "kind": draw.pick(("page", "list"))}
        yield call("knowledge_pin", {"op": "pin", **pin})
        yield call("knowledge_pin", {"op": "unpin", **pin})
        yield call("knowledge_page", {"op": "write", "page": ref, "body": "By a tool\n"})
        stale = {"op": "write", "page": ref, "body": "Late\n", "expectedVersion": page.version}
        yield call("knowledge_page", stale)
    for page in draw.some(sight.at_role("owner"), 1):
        into = sight.ref_of(draw.pick(sight.at_role("owner")))
        op = draw.pick(("merge", "delete", "move"))
        arguments: dict[str, Value] = {"op": op, "page": str(page.id)}
        if op != "delete":
            arguments["into" if op == "merge" else "parent"] = into
        yield call("knowledge_page", arguments)
    for note in draw.some(sight.told.hidden_notes, 1):
        yield call("knowledge_note", {"op": "remove", "note": str(note)})
    for hidden in draw.some(sight.hidden, 1):
        yield call("knowledge_page", {"op": "write", "page": str(hidden), "body": "Mine"})
        yield call("knowledge_pin", {"op": "pin", "page": str(hidden), "audience": [GUILD]})


@probes("movePage", "mergePage", "restorePage", "deletePage")
def places(sight: Sight) -> Iterator[Ask]:
    draw = sight.draw
    pages = draw.some(sight.at_role("owner"), 6)
    hidden = str(draw.pick(sight.hidden))
    for page in [*(str(page.id) for page in pages[:1]), hidden, str(NEVER)]:
        body: dict[str, Value] = {"version": 1}
        yield Ask("restorePage", "POST", f"/pages/{page}/restore", body=body, headers=ANY)
    for gone in draw.some(sight.ended, 1):
        body = {"key": None}
        yield Ask("restorePage", "POST", f"/pages/{gone}/restore", body=body, headers=ANY)
    for page in [*(str(page.id) for page in draw.some(pages, 2)), hidden]:
        target = draw.pick(sight.at_role("owner")) if sight.below else None
        body = {"key": draw.pick(KEYS)}
        if target is not None:
            body |= {"parent": str(target.id), "scope": target.scope}
        yield Ask("movePage", "POST", f"/pages/{page}/move", body=body, headers=ANY)
    for page in [*(str(page.id) for page in draw.some(pages, 3)), hidden]:
        into = str(draw.pick(sight.at_role("owner")).id) if sight.below else str(NEVER)
        body = {"into": into, "intoVersion": "any", "onKeyCollision": "rename"}
        yield Ask("mergePage", "POST", f"/pages/{page}/merge", body=body, headers=ANY)
    if pages:
        body = {"into": hidden, "intoVersion": "any"}
        yield Ask("mergePage", "POST", f"/pages/{pages[-1].id}/merge", body=body, headers=ANY)
    for page in [*(str(page.id) for page in pages[-2:]), hidden]:
        query: dict[str, Value] = {"subtree": True} if draw.chance(70) else {}
        yield Ask("deletePage", "DELETE", f"/pages/{page}", query, headers=ANY)


@probes("createWebhook", "redeliver", "deleteWebhook")
def webhooks(sight: Sight) -> Iterator[Ask]:
    body: dict[str, Value] = {"url": "http://127.0.0.1:9/hook", "after": Place(3)}
    yield Ask("createWebhook", "POST", "/webhooks", body=body)
    for webhook in (sight.webhook, sight.foreign_webhook):
        path = f"/webhooks/{webhook}/dead-letters/{{place:2}}/redeliver"
        yield Ask("redeliver", "POST", path)
    for webhook in (sight.webhook, sight.foreign_webhook):
        yield Ask("deleteWebhook", "DELETE", f"/webhooks/{webhook}")


@probes("replaceConfiguration")
def replace_configuration(sight: Sight) -> Iterator[Ask]:
    changed = CONFIGURATION.replace("What everyone reads", "What all read")
    document = json.loads(dump_configuration(load_configuration(changed, "toml")))
    headers = {"if-match": "*"}
    yield Ask("replaceConfiguration", "PUT", "/configuration", body=document, headers=headers)
