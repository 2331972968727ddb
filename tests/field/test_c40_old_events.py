"""C40: a renamed class or a new required field made old events unreadable, or read as empty."""

import re
from typing import ClassVar
from uuid import UUID

import msgspec
import pytest
from eventsourcing.persistence import MapperDeserialisationError, StoredEvent

from api.wiring import open_services
from kbstore.domain.events import EVENT_TYPES, Event, PageCreated, TextRef
from kbstore.errors import UnknownTopicError, UpcasterMissingError
from kbstore.store.application import KnowledgeBaseApplication
from kbstore.store.mapper import EventTypes, decode_payload, encode_payload
from kbstore.store.texts import write_texts
from tests.asking import Client, asking_at
from tests.http.world import serve
from tests.knowledge import SCOPE, KnowledgeBase

ORIGINATOR = UUID(int=1)


class Published(Event, frozen=True, kw_only=True):
    """Third version of a type: 1 had `title` alone, 2 added `summary`, 3 named it `abstract`
    and counts words."""

    topic: ClassVar[str] = "page.published"
    class_version: ClassVar[int] = 3

    title: str
    abstract: str
    words: int

    @staticmethod
    def upcast_v1_v2(payload: dict[str, object]) -> None:
        payload["summary"] = ""

    @staticmethod
    def upcast_v2_v3(payload: dict[str, object]) -> None:
        payload["abstract"] = payload.pop("summary")
        payload["words"] = len(str(payload["abstract"]).split())


STORED: dict[str, tuple[dict[str, object], tuple[str, int]]] = {
    "version 1": ({"title": "T"}, ("", 0)),
    "version 1, said": ({"class_version": 1, "title": "T"}, ("", 0)),
    "version 2": ({"class_version": 2, "title": "T", "summary": "two words"}, ("two words", 2)),
    "version 3": (
        {"class_version": 3, "title": "T", "abstract": "two words", "words": 9},
        ("two words", 9),
    ),
    "version 1 with a field nobody knows": ({"title": "T", "colour": "red"}, ("", 0)),
}


@pytest.mark.parametrize("name", STORED)
def test_each_old_version_is_read_as_todays_type(name: str) -> None:
    fields, (abstract, words) = STORED[name]
    types = EventTypes([*EVENT_TYPES, Published])
    event = types.decode("page.published", msgspec.msgpack.encode(fields), ORIGINATOR, 4)
    assert event == Published(
        originator_id=ORIGINATOR, originator_version=4, title="T", abstract=abstract, words=words
    )
    # What is read is written as version 3, and read back the same.
    assert types.decode("page.published", types.encode(event), ORIGINATOR, 4) == event


@pytest.mark.parametrize("missing", ["upcast_v1_v2", "upcast_v2_v3"])
def test_a_missing_link_is_found_at_the_start(missing: str) -> None:
    """Not when the first old event is met, years later."""
    links = {"upcast_v1_v2", "upcast_v2_v3"} - {missing}
    namespace = {name: Published.__dict__[name] for name in links}
    broken = type(
        "Broken",
        (Event,),
        {"topic": "page.broken", "class_version": 3, "__annotations__": {}, **namespace},
        frozen=True,
        kw_only=True,
    )
    with pytest.raises(UpcasterMissingError, match=missing):
        EventTypes([broken])


def test_no_payload_is_read_as_empty() -> None:
    """A required field that is missing is an error, never a default."""
    types = EventTypes([Published])
    for fields in ({}, {"class_version": 2, "title": "T"}, {"class_version": 3, "title": "T"}):
        with pytest.raises(MapperDeserialisationError):
            types.decode("page.published", msgspec.msgpack.encode(fields), ORIGINATOR, 1)
    for event_type in EVENT_TYPES:
        required = [f for f in msgspec.structs.fields(event_type) if f.required]
        if required:
            with pytest.raises(MapperDeserialisationError):
                decode_payload(event_type.topic, b"\x80", ORIGINATOR, 1)


def test_a_name_in_the_store_is_no_name_in_the_code() -> None:
    """Classes can be renamed and modules moved: a topic says nothing of either."""
    for event_type in EVENT_TYPES:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*", event_type.topic)
        assert event_type.__name__ not in event_type.topic
        assert event_type.__module__ not in event_type.topic
    renamed = type(
        "PageBorn", (PageCreated,), {"topic": PageCreated.topic}, frozen=True, kw_only=True
    )
    event = PageCreated(
        originator_id=ORIGINATOR,
        originator_version=1,
        scope=SCOPE,
        name=TextRef(UUID(int=2), b"h" * 32),
    )
    read = EventTypes([renamed]).decode("page.created", encode_payload(event), ORIGINATOR, 1)
    assert type(read) is renamed
    assert msgspec.structs.asdict(read) == msgspec.structs.asdict(event)


def test_an_unknown_topic_stops_the_reader() -> None:
    with pytest.raises(UnknownTopicError):
        decode_payload("page.vanished", b"\x80", ORIGINATOR, 1)
    with pytest.raises(UnknownTopicError):
        decode_payload("kbstore.domain.events:PageCreated", b"\x80", ORIGINATOR, 1)


OLD_CONFIGURATION = """
[scopes."org:$org"]
access = [{ principal = "self", role = "owner" }]

[[scopes."org:$org".pages]]
key = "old"
name = "Declared long ago"
"""


def test_an_old_event_in_a_store_is_read_as_it_was_meant(database_url: str) -> None:
    """A configuration stored as version 1, which was TOML and named no format."""
    with open_services(database_url) as services:
        kb = KnowledgeBase(services)
        text = kb.text(OLD_CONFIGURATION)
        connection = services.database.connect()
        write_texts(connection, kb.id, [text])
        connection.close()
        payload = msgspec.msgpack.Encoder(uuid_format="bytes").encode({"configuration": text.ref})
        recorder = KnowledgeBaseApplication(
            services.database, services.commands.writer, kb.id
        ).recorder
        version = len(kb.events_of(kb.id)) + 1
        recorder.insert_events([StoredEvent(kb.id, version, "knowledge_base.configured", payload)])
    # Read by a process that has nothing cached.
    with open_services(database_url) as services, serve(services) as address:
        kb = KnowledgeBase.opened(services, kb)
        with asking_at(address, kb) as ask:
            _check_configured(ask("user:ana"), ask("user:root", grants=("auditor", "admin")))
        stored = kb.rows(
            "SELECT payload FROM events WHERE kb_id = ? AND originator_id = ?"
            " AND originator_version = ?",
            kb.id.bytes,
            version,
        )
        assert stored == [(payload,)], "what is stored never changes"


def _check_configured(ana: Client, root: Client) -> None:
    assert ana.page_at("org:acme#old").name == "Declared long ago"
    read = root.ask("GET", "/configuration")
    assert read.status == 200
    assert b"Declared long ago" in read.raw
    kinds = [event.type for event in root.events()]
    assert kinds[-1] == "knowledge_base.configured"
    # And the store goes on from there.
    assert ana.made("new").path == "new"
    assert len(root.events()) > len(kinds)
