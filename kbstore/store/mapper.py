"""Between events and their stored form.

A topic resolves from the table of event types below and never by import: data in the store
cannot name code to load. Older payloads pass the upcasters of their type on the way in.
"""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, MapperDeserialisationError, StoredEvent
from msgspec.structs import force_setattr, replace

from kbstore.domain.events import EVENT_TYPES, NIL, Event
from kbstore.errors import UnknownTopicError, UpcasterMissingError

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")


class _ClassVersion(msgspec.Struct, frozen=True):
    class_version: int = 1


_class_version_decoder = msgspec.msgpack.Decoder(_ClassVersion)


class EventTypes:
    """The table of topics, checked once: topics are unique, upcaster chains have no gap."""

    def __init__(self, types: Sequence[type[Event]]) -> None:
        self.by_topic: dict[str, type[Event]] = {}
        for event_type in types:
            if not event_type.topic or event_type.topic in self.by_topic:
                raise UnknownTopicError(f"{event_type.__name__} has no topic of its own.")
            for version in range(1, event_type.class_version):
                if not hasattr(event_type, f"upcast_v{version}_v{version + 1}"):
                    raise UpcasterMissingError(
                        f"{event_type.topic} lacks upcast_v{version}_v{version + 1}.",
                        topic=event_type.topic,
                        from_version=version,
                    )
            self.by_topic[event_type.topic] = event_type
        self._decoders = {
            topic: msgspec.msgpack.Decoder(event_type)
            for topic, event_type in self.by_topic.items()
        }

    def encode(self, event: Event) -> bytes:
        """The payload: a MessagePack map without the originator and without defaults."""
        bare = replace(event, originator_id=NIL, originator_version=0)
        if event.class_version == 1:
            return _encoder.encode(bare)
        fields = {
            name: value
            for name in event.__struct_fields__
            if (value := getattr(bare, name)) is not msgspec.UNSET
            and name not in ("originator_id", "originator_version")
        }
        return _encoder.encode({"class_version": event.class_version, **fields})

    def decode(self, topic: str, payload: bytes, originator_id: UUID, version: int) -> Event:
        """The event as today's type, upcast where an older type wrote it.

        Raises UnknownTopicError for a topic outside the table, MapperDeserialisationError for
        a payload that no version of the type can have written.
        """
        event_type = self.by_topic.get(topic)
        if event_type is None:
            raise UnknownTopicError(f"No event type has the topic {topic!r}.", topic=topic)
        try:
            if event_type.class_version == 1:
                event = self._decoders[topic].decode(payload)
            else:
                event = self._upcast(event_type, payload)
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise MapperDeserialisationError(
                f"{topic} {originator_id} version {version} cannot be read: {error}"
            ) from error
        force_setattr(event, "originator_id", originator_id)
        force_setattr(event, "originator_version", version)
        return event

    def _upcast(self, event_type: type[Event], payload: bytes) -> Event:
        written = _class_version_decoder.decode(payload).class_version
        if written == event_type.class_version:
            return self._decoders[event_type.topic].decode(payload)
        fields: dict[str, object] = msgspec.msgpack.decode(payload, type=dict[str, object])
        for version in range(written, event_type.class_version):
            getattr(event_type, f"upcast_v{version}_v{version + 1}")(fields)
        return self._decoders[event_type.topic].decode(_encoder.encode(fields))


event_types = EventTypes(EVENT_TYPES)
encode_payload = event_types.encode
decode_payload = event_types.decode


class StructMapper(Mapper[UUID]):
    """The eventsourcing mapper for our Structs; its stock one reads `vars(event)`."""

    def __init__(self) -> None:
        # No transcoder, compressor or cipher: payloads are small and hold no text.
        pass

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        assert isinstance(domain_event, Event)
        return StoredEvent(
            originator_id=domain_event.originator_id,
            originator_version=domain_event.originator_version,
            topic=domain_event.topic,
            state=encode_payload(domain_event),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        originator_id = stored_event.originator_id
        assert isinstance(originator_id, UUID)
        return decode_payload(
            stored_event.topic, stored_event.state, originator_id, stored_event.originator_version
        )
