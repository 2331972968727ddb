"""Old revisions are no way round today's access: what a reader could read once, and no longer
can, is on no surface; owners and auditors still find it there."""

from collections.abc import Iterator

import pytest
from msgspec import Struct

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM

WORDS = {"moved": "quokka", "restamped": "narwhal", "deleted": "axolotl"}
"""What the page that moved away, the note that was restamped and the page that was deleted hold."""

Request = tuple[str, str, object, dict[str, object]]


class Story(Struct, frozen=True):
    """What happened, and the revision at which everybody could read all of it."""

    ana: Client
    reader: Client
    auditor: Client
    revision: int
    page: str
    carrier: str
    deleted: str
    note: str

    def requests(self) -> Iterator[tuple[str, Request]]:
        """Every surface that could show what is gone, then and now."""
        then: dict[str, object] = {"revision": self.revision}
        for when, at in (("then", then), ("now", {})):
            for name, path in (
                ("page", f"/pages/{self.page}"),
                ("deleted page", f"/pages/{self.deleted}"),
                ("children", f"/pages/{self.top}/children"),
                ("notes", f"/pages/{self.carrier}/notes"),
                ("note", f"/notes/{self.note}"),
                ("notes of the page", f"/pages/{self.page}/notes"),
                ("pins", f"/pages/{self.page}/pins"),
                ("backlinks", f"/pages/{self.carrier}/backlinks"),
                ("history", f"/pages/{self.page}/history"),
                ("history of the deleted", f"/pages/{self.deleted}/history"),
                ("commits", "/commits"),
                ("events", "/events"),
                ("deletions", "/deletions"),
                ("scopes", "/scopes"),
                ("context", "/context"),
            ):
                yield f"{name} {when}", ("GET", path, None, {**at, **self.many(path)})
            for page in (self.page, self.deleted):
                query = {"from": 1, "to": 2, **at}
                yield f"diff of {page} {when}", ("GET", f"/pages/{page}/diff", None, query)
            for ref in (f"{SCOPE}#quokka", f"{SCOPE}#axolotl"):
                yield f"{ref} {when}", ("GET", "/pages", None, {"ref": ref, **at})
            for name, arguments in (
                ("knowledge_list", {"from": SCOPE, "depth": 3, "descriptions": True}),
                ("knowledge_list", {"depth": 3, "descriptions": True}),
                ("knowledge_read", {"page": self.page}),
                ("knowledge_read", {"page": SCOPE}),
                ("knowledge_read", {"page": self.carrier}),
                ("knowledge_read", {"page": self.carrier, "notes": True}),
                ("knowledge_read", {"page": self.carrier, "mentionedIn": True}),
                # A little off, so that the refusal itself never holds the word.
                ("knowledge_read", {"page": "The quoka page"}),
                ("knowledge_read", {"page": f"{SCOPE}#axolot"}),
                # Words that stand beside those looked for.
                ("knowledge_search", {"query": "again"}),
                ("knowledge_search", {"query": "a", "limit": 50}),
                ("knowledge_activity", {"order": "oldest", "limit": 100}),
                ("knowledge_activity", {"order": "newest", "limit": 100}),
            ):
                body = {**arguments, **at}
                yield f"{name} {arguments} {when}", ("POST", f"/tools/{name}", body, {})

    @property
    def top(self) -> str:
        return self.ana.page_at(SCOPE).id

    def many(self, path: str) -> dict[str, object]:
        is_list = path.rpartition("/")[2] in ("commits", "events", "children", "history")
        return {"limit": 200} if is_list else {}


@pytest.fixture
def story(asking: Ask) -> Story:
    ana = asking("user:ana", SCOPE, "editor:acme")
    page = ana.made("quokka", name="The quokka page", body="A quokka\n")
    ana.edit(page.id, body="A quokka, again\n")
    carrier = ana.made("carrier", body=f"See [[{page.id}]]\n")
    deleted = ana.made("axolotl", name="An axolotl page", body="An axolotl\n")
    ana.edit(deleted.id, body="An axolotl, again\n")
    note = ana.ask(
        "POST",
        f"/pages/{carrier.id}/notes",
        {"text": "A narwhal, see [[An axolotl page]]", "scope": [SCOPE]},
    ).json["note"]
    assert isinstance(note, dict)
    ana.ask("PUT", f"/pages/{page.id}/pins/page", {"audience": ["editor:acme"]})
    revision = ana.part("/scopes").revision
    ana.edit(carrier.id, body="Nothing to see\n")
    ana.move(page.id, scope=TEAM)
    assert ana.ask("PATCH", f"/notes/{note['id']}", {"scope": [TEAM]}).status == 200
    assert ana.delete(deleted.id).status == 200
    return Story(
        ana=ana,
        reader=asking("user:ed", "editor:acme"),
        auditor=asking("user:root", "viewer:acme", grants=("auditor",)),
        revision=revision,
        page=page.id,
        carrier=carrier.id,
        deleted=deleted.id,
        note=str(note["id"]),
    )


def words_shown(client: Client, request: Request) -> set[str]:
    method, path, body, query = request
    raw = client.ask(method, path, body, query=query).raw.decode().lower()
    asked = str((path, body, query)).lower()
    return {word for word in WORDS.values() if word in raw and word not in asked}


def test_who_could_read_it_once_finds_it_nowhere(story: Story) -> None:
    for surface, request in story.requests():
        assert words_shown(story.reader, request) == set(), surface


def test_owners_and_auditors_find_all_of_it(story: Story) -> None:
    for client in (story.ana, story.auditor):
        shown = set[str]()
        for _, request in story.requests():
            shown |= words_shown(client, request)
        assert shown == set(WORDS.values())


def test_most_surfaces_show_something_to_the_owner(story: Story) -> None:
    """So that their silence towards others means something."""
    telling = {
        surface.removesuffix(" then").partition(" {")[0]
        for surface, request in story.requests()
        if surface.endswith(" then") and words_shown(story.ana, request)
    }
    assert telling >= {
        "page",
        "deleted page",
        "children",
        "note",
        "notes",
        "events",
        "commits",
        "context",
        f"diff of {story.page}",
        f"diff of {story.deleted}",
        "knowledge_list",
        "knowledge_read",
        "knowledge_search",
        "knowledge_activity",
    }


def test_a_conflict_shows_nothing_of_a_page_that_went_away(story: Story) -> None:
    for page in (story.page, story.deleted):
        refused = story.reader.edit(page, 1, body="mine\n")
        assert refused.status == 404
        assert not any(word in refused.raw.decode() for word in WORDS.values())
