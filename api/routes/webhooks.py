"""Webhooks: events that are sent as they come. One belongs to the key that made it."""

from functools import partial
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from eventsourcing.persistence import IntegrityError
from msgspec import Meta
from msgspec.structs import replace

from api.answers import NO_STORE, Answer, json_answer
from api.bodies import Body, NoBody
from api.calls import Call
from api.idempotency import claim_of
from api.listing import Part, Walk, Window, id_key, position_key, read_list
from api.operations import Change, changes, reads
from api.parameters import AtRevision, Cursor, Limit, ListAt, Parameters
from api.reading import Found, State, read
from api.webhooks.addresses import check_url
from api.webhooks.signing import format_secret, new_secret
from api.webhooks.views import (
    DeadLetterList,
    DeadLetterRequested,
    WebhookCreated,
    WebhookList,
    WebhookRead,
    dead_letter_view,
    webhook_view,
)
from kbstore.domain.decision import Subject
from kbstore.domain.events import EVENT_TYPES
from kbstore.errors import (
    IdempotencyInProgressError,
    IdempotencyKeyReusedError,
    NotFoundError,
    TooManyWebhooksError,
    ValidationError,
    WebhookDisabledError,
)
from kbstore.ids import parse_uuid
from kbstore.limits import REVISION_MAX, WEBHOOKS_MAX
from kbstore.store.connection import Connection, Queryable
from kbstore.store.dead_letters import list_letters, request_letter
from kbstore.store.heads import read_head
from kbstore.store.idempotency import Claim, StoredClaim, find_claim, store_claim
from kbstore.store.webhooks import (
    Progress,
    Registered,
    Webhook,
    count_webhooks,
    delete_webhook,
    find_registered,
    insert_webhook,
    list_webhooks,
    lock_webhooks,
)

_TYPES = frozenset(event.topic for event in EVENT_TYPES)


class WebhookBody(Body, frozen=True, kw_only=True):
    """`types` are those of events, all when left out. The first event is the one after the
    position `after`, or after the newest one there is."""

    url: str
    types: tuple[str, ...] = ()
    after: Annotated[int, Meta(ge=0, le=REVISION_MAX)] | None = None


class PartParameters(Parameters, frozen=True, kw_only=True):
    limit: Limit | None = None
    cursor: Cursor | None = None


@changes(
    "createWebhook",
    "POST",
    "/webhooks",
    "Have events sent to a URL; the answer shows the secret that signs them",
    parameters=Parameters,
    body=WebhookBody,
    answers={201: WebhookCreated},
    takes_claim=True,
    errors=(TooManyWebhooksError,),
)
async def create_webhook(change: Change, given: Parameters, body: WebhookBody) -> Answer:
    call = change.call
    claim = claim_of(call, change.value)
    check_url(body.url, allow_private=call.server.settings.webhooks.allow_private)
    _check_types(body.types)
    webhook = Webhook(
        kb_id=call.kb.kb_id,
        webhook_id=call.server.services.commands.ids.new_id(),
        key_id=call.caller.key_id,
        scopes=call.caller.held,
        url=body.url,
        types=tuple(dict.fromkeys(body.types)),
        secret=new_secret(),
        created_at=call.server.services.commands.clock.now(),
        progress=Progress(position=0),
    )
    try:
        made = await call.server.webhooks.keeper.run(
            partial(_register, webhook=webhook, after=body.after, claim=claim)
        )
    except IntegrityError:
        # Another request with this Idempotency-Key was just committed.
        raise IdempotencyInProgressError(
            "The first request with this Idempotency-Key is running; try again."
        ) from None
    call.server.webhooks.wake(made.webhook.webhook_id)
    location = quote(f"{call.kb_path}/webhooks/{made.webhook.webhook_id}")
    headers = [NO_STORE, (b"location", location.encode())]
    if made.webhook.webhook_id != webhook.webhook_id:
        headers.append((b"idempotency-replayed", b"true"))
    created = WebhookCreated(webhook=webhook_view(made), secret=format_secret(made.webhook.secret))
    return json_answer(201, created, headers)


@reads(
    "listWebhooks",
    "/webhooks",
    "List the webhooks of the key, with the grant admin those of all keys",
    parameters=PartParameters,
    answer=WebhookList,
    is_of_commits=False,
)
async def list_all_webhooks(call: Call, given: PartParameters) -> Answer:
    def query(state: State, window: Window) -> Part:
        key_id = None if call.caller.is_admin else call.caller.key_id
        found = list_webhooks(
            state.snapshot.connection, call.kb.kb_id, key_id, window.after_id, window.limit + 1
        )
        shown = found[: window.limit]
        after = shown[-1].webhook.webhook_id if len(found) > window.limit else None
        return Part(WebhookList, tuple(webhook_view(each) for each in shown), id_key(after))

    walk = Walk(operation="listWebhooks", is_feed=True)
    return await read_list(call, ListAt(limit=given.limit, cursor=given.cursor), walk, query)


@reads(
    "readWebhook",
    "/webhooks/{webhookId}",
    "Read a webhook and how its deliveries go",
    parameters=Parameters,
    answer=WebhookRead,
    is_of_commits=False,
)
async def read_webhook(call: Call, given: Parameters) -> Answer:
    def query(state: State) -> Found:
        view = webhook_view(_own(state.snapshot.connection, call))
        return Found(WebhookRead(revision=state.revision, webhook=view))

    return await read(call, AtRevision(), query)


@changes(
    "deleteWebhook",
    "DELETE",
    "/webhooks/{webhookId}",
    "Delete a webhook with its dead letters",
    parameters=Parameters,
    body=NoBody,
    answers={204: None},
)
async def remove_webhook(change: Change, given: Parameters, body: NoBody) -> Answer:
    call = change.call

    def work(connection: Connection) -> UUID:
        webhook = _own(connection, call).webhook
        delete_webhook(connection, webhook.kb_id, webhook.webhook_id)
        return webhook.webhook_id

    call.server.webhooks.wake(await call.server.webhooks.keeper.run(work))
    return Answer(204, b"", (NO_STORE,))


@reads(
    "listDeadLetters",
    "/webhooks/{webhookId}/dead-letters",
    "List the events that the receiver of a webhook did not take, by position",
    parameters=PartParameters,
    answer=DeadLetterList,
    is_of_commits=False,
)
async def list_dead_letters(call: Call, given: PartParameters) -> Answer:
    def query(state: State, window: Window) -> Part:
        connection = state.snapshot.connection
        webhook = _own(connection, call).webhook
        found = list_letters(
            connection,
            webhook.kb_id,
            webhook.webhook_id,
            window.after_position or 0,
            window.limit + 1,
        )
        shown = found[: window.limit]
        after = shown[-1].position if len(found) > window.limit else None
        views = tuple(dead_letter_view(webhook.webhook_id, letter) for letter in shown)
        return Part(DeadLetterList, views, position_key(after))

    shape = (call.path["webhookId"].lower(),)
    walk = Walk(operation="listDeadLetters", shape=shape, is_feed=True)
    return await read_list(call, ListAt(limit=given.limit, cursor=given.cursor), walk, query)


@changes(
    "redeliver",
    "POST",
    "/webhooks/{webhookId}/dead-letters/{position}/redeliver",
    "Send a dead letter once more, soon",
    parameters=Parameters,
    body=NoBody,
    answers={202: DeadLetterRequested},
    errors=(WebhookDisabledError,),
)
async def redeliver(change: Change, given: Parameters, body: NoBody) -> Answer:
    call = change.call
    now = call.server.services.commands.clock.now()

    def work(connection: Connection) -> DeadLetterRequested:
        found = _own(connection, call)
        webhook = found.webhook
        position = _position(call)
        letter = request_letter(connection, webhook.kb_id, webhook.webhook_id, position, now)
        if letter is None:
            raise NotFoundError(f"Dead letter {position} not found.")
        reason = "revoked" if found.is_revoked else webhook.progress.disabled_reason
        if reason is not None:
            raise WebhookDisabledError(
                "Nothing is sent to this webhook any more; delete it, and make another one.",
                reason=reason,
            )
        return DeadLetterRequested(dead_letter=dead_letter_view(webhook.webhook_id, letter))

    requested = await call.server.webhooks.keeper.run(work)
    call.server.webhooks.wake(UUID(call.path["webhookId"]))
    return json_answer(202, requested, (NO_STORE,))


def _register(
    connection: Connection, *, webhook: Webhook, after: int | None, claim: Claim | None
) -> Registered:
    """The webhook as it was entered, by this request or by its first try."""
    kb_id = webhook.kb_id
    lock_webhooks(connection, kb_id)
    stored = None if claim is None else find_claim(connection, kb_id, claim)
    if stored is not None:
        return _first_try(connection, webhook, stored)
    if count_webhooks(connection, kb_id) >= WEBHOOKS_MAX:
        raise TooManyWebhooksError(
            f"A knowledge base has at most {WEBHOOKS_MAX} webhooks.", limit=WEBHOOKS_MAX
        )
    head = read_head(connection, kb_id)
    assert head is not None, "the caller's knowledge base is there"
    if after is not None and after > head.position:
        raise ValidationError(
            f"after is at most {head.position}, the newest position.",
            field="after",
            reason="outOfRange",
        )
    progress = Progress(position=head.position if after is None else after)
    insert_webhook(connection, replace(webhook, progress=progress))
    if claim is not None:
        subject = Subject("webhook", webhook.webhook_id, created=True)
        store_claim(connection, kb_id, claim, StoredClaim(None, (subject,)), webhook.created_at)
    return _found(connection, kb_id, webhook.webhook_id)


def _first_try(connection: Connection, webhook: Webhook, stored: StoredClaim) -> Registered:
    """Another key of the same principal does not get to know its secret."""
    (subject,) = stored.subjects
    found = _found(connection, webhook.kb_id, subject.id)
    if found.webhook.key_id != webhook.key_id:
        raise IdempotencyKeyReusedError(
            "This Idempotency-Key was used by another API key; take a new one.",
            field="Idempotency-Key",
        )
    return found


def _found(connection: Queryable, kb_id: UUID, webhook_id: UUID) -> Registered:
    found = find_registered(connection, kb_id, webhook_id)
    if found is None:
        raise _missing(str(webhook_id))
    return found


def _own(connection: Queryable, call: Call) -> Registered:
    """The webhook of the address. One of another key is missing, but for an admin."""
    text = call.path["webhookId"]
    webhook_id = parse_uuid(text)
    found = None if webhook_id is None else find_registered(connection, call.kb.kb_id, webhook_id)
    if found is None:
        raise _missing(text)
    if not call.caller.is_admin and found.webhook.key_id != call.caller.key_id:
        raise _missing(text)
    return found


def _missing(text: str) -> NotFoundError:
    return NotFoundError(f'Webhook "{text[:100]}" not found.')


def _position(call: Call) -> int:
    text = call.path["position"]
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(REVISION_MAX))):
        raise NotFoundError(f"Dead letter {text[:32]} not found.")
    return int(text)


def _check_types(types: tuple[str, ...]) -> None:
    for type in types:
        if type not in _TYPES:
            raise ValidationError(
                f"{type[:64]} is no type of event; there are {', '.join(sorted(_TYPES))}.",
                field="types",
                reason="unknownValue",
            )


OPERATIONS = (
    create_webhook,
    list_all_webhooks,
    read_webhook,
    remove_webhook,
    list_dead_letters,
    redeliver,
)
