"""The stored form of every event type, version by version, and how old ones are read.

`tests/golden/events/<topic>.v<class version>.json` never changes once a version was released:
a store out there holds these bytes. A new version adds a file.
"""

import json
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from eventsourcing.persistence import MapperDeserialisationError

from kbstore.domain.events import (
    EVENT_TYPES,
    BodyRef,
    Event,
    KnowledgeBaseConfigured,
    KnowledgeBaseCreated,
    Links,
    NoteAdded,
    NoteMoved,
    NoteRemoved,
    NoteRestamped,
    PageAbsorbed,
    PageCreated,
    PageDeleted,
    PageEdited,
    PageMergedAway,
    PageMoved,
    PageRestored,
    PinRemoved,
    PinSet,
    ReplacedRange,
    TextRef,
)
from kbstore.errors import UnknownTopicError, UpcasterMissingError
from kbstore.store.mapper import EventTypes, decode_payload, encode_payload

GOLDEN = Path(__file__).parents[2] / "golden" / "events"


class Golden(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A stored event: `payload` is MessagePack in hexadecimal."""

    topic: str
    class_version: int
    originator_id: UUID
    originator_version: int
    payload: str

    @property
    def state(self) -> bytes:
        return bytes.fromhex(self.payload)


def uid(number: int) -> UUID:
    return UUID(int=0x0190_0000_0000_7000_8000_0000_0000_0000 + number)


def ref(number: int) -> TextRef:
    return TextRef(uid(number), bytes([number]) * 32)


BODY = BodyRef(ref(3), 12, 345)
LINKS = Links(ref(4), ((0, uid(20)), (3, uid(21))))

EVENTS: list[Event] = [
    PageCreated(
        originator_id=uid(1),
        originator_version=1,
        scope="org:acme",
        parent_id=uid(2),
        key="refund",
        name=ref(1),
        description=ref(2),
        body=BODY,
        links=LINKS,
        template="policies/refund",
        author="service:config",
    ),
    PageEdited(
        originator_id=uid(1),
        originator_version=7,
        name=ref(1),
        description=None,
        body=BODY,
        links=LINKS,
        range=ReplacedRange(2, 9, 0, 14),
        restored_version=5,
    ),
    PageMoved(
        originator_id=uid(1),
        originator_version=7,
        scope="team:acme:support",
        parent_id=uid(5),
        key="refunds",
        from_scope="org:acme",
        from_parent_id=uid(2),
        from_key="refund",
    ),
    PageMergedAway(originator_id=uid(1), originator_version=7, into=uid(6)),
    PageAbsorbed(originator_id=uid(6), originator_version=7, page_id=uid(1), description=ref(2)),
    PageDeleted(originator_id=uid(1), originator_version=7),
    PageRestored(
        originator_id=uid(1),
        originator_version=8,
        scope="org:acme",
        parent_id=uid(2),
        key="refund",
        name=ref(1),
        description=ref(2),
        body=BODY,
        links=LINKS,
        restored_version=6,
    ),
    NoteAdded(
        originator_id=uid(7),
        originator_version=1,
        page_id=uid(1),
        text=ref(5),
        stamps=("org:acme", "team:acme:support"),
        when="2026-10-29T14:30:00Z",
        links=LINKS,
    ),
    NoteRestamped(originator_id=uid(7), originator_version=2, stamps=("org:acme",)),
    NoteMoved(originator_id=uid(7), originator_version=3, page_id=uid(6)),
    NoteRemoved(originator_id=uid(7), originator_version=4),
    PinSet(
        originator_id=uid(8),
        originator_version=1,
        page_id=uid(1),
        kind="list",
        audience=("org:acme", "role:acme:sales"),
        depth=3,
    ),
    PinRemoved(originator_id=uid(8), originator_version=2),
    KnowledgeBaseCreated(originator_id=uid(9), originator_version=1, slug="handbook"),
    KnowledgeBaseConfigured(
        originator_id=uid(9), originator_version=2, configuration=ref(6), format="json"
    ),
]


def golden(topic: str, class_version: int) -> Golden:
    path = GOLDEN / f"{topic}.v{class_version}.json"
    return msgspec.json.decode(path.read_bytes(), type=Golden)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.topic)
def test_an_event_is_stored_as_it_always_was(event: Event) -> None:
    stored = golden(event.topic, event.class_version)
    assert (stored.topic, stored.class_version) == (event.topic, event.class_version)
    assert encode_payload(event).hex() == stored.payload
    read = decode_payload(
        stored.topic, stored.state, stored.originator_id, stored.originator_version
    )
    assert read == event
    assert type(read) is type(event)


def test_every_version_of_every_type_has_a_file_and_no_file_is_left_over() -> None:
    expected = {
        f"{event_type.topic}.v{version}.json"
        for event_type in EVENT_TYPES
        for version in range(1, event_type.class_version + 1)
    }
    assert {path.name for path in GOLDEN.iterdir()} == expected
    assert {type(event) for event in EVENTS} == set(EVENT_TYPES)


def test_a_configuration_of_version_1_is_read_as_toml() -> None:
    stored = golden("knowledge_base.configured", 1)
    assert b"format" not in stored.state
    assert decode_payload(
        stored.topic, stored.state, stored.originator_id, stored.originator_version
    ) == KnowledgeBaseConfigured(
        originator_id=uid(9), originator_version=2, configuration=ref(6), format="toml"
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.stem)
def test_unknown_fields_are_passed_over(path: Path) -> None:
    stored = msgspec.json.decode(path.read_bytes(), type=Golden)
    origin = (stored.originator_id, stored.originator_version)
    fields = msgspec.msgpack.decode(stored.state, type=dict[str, object])
    more = msgspec.msgpack.encode({"aNewField": {"deep": [1, None]}, **fields, "another": 1})
    assert decode_payload(stored.topic, more, *origin) == decode_payload(
        stored.topic, stored.state, *origin
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.stem)
def test_files_are_written_one_way(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    assert path.read_text("utf-8") == json.dumps(document, indent=2) + "\n"
    assert path.name == f"{document['topic']}.v{document['classVersion']}.json"


def test_fields_at_their_default_are_left_out() -> None:
    bare = PageEdited(originator_id=uid(1), originator_version=2)
    assert msgspec.msgpack.decode(encode_payload(bare)) == {}
    assert msgspec.msgpack.decode(encode_payload(msgspec.structs.replace(bare, body=None))) == {
        "body": None
    }


@pytest.mark.parametrize(
    "payload",
    [b"", b"\xc1", b"\x93\x01\x02\x03", msgspec.msgpack.encode({"scope": 1})],
    ids=["empty", "no MessagePack", "a list", "a wrong type"],
)
def test_a_payload_that_no_version_wrote_is_an_error(payload: bytes) -> None:
    for topic in ("page.created", "knowledge_base.configured"):
        with pytest.raises(MapperDeserialisationError):
            decode_payload(topic, payload, uid(1), 1)


def test_an_unknown_topic_is_an_error() -> None:
    with pytest.raises(UnknownTopicError):
        decode_payload("os.system", b"\x80", uid(1), 1)


def test_a_chain_with_a_gap_is_refused_at_the_start() -> None:
    class Gap(PageDeleted, frozen=True, kw_only=True):
        topic = "page.gap"
        class_version = 3

        @staticmethod
        def upcast_v1_v2(payload: dict[str, object]) -> None:
            pass

    with pytest.raises(UpcasterMissingError, match="upcast_v2_v3"):
        EventTypes([Gap])
