"""What a server can be told besides where its database lies."""

from msgspec import Struct

from kbstore.limits import (
    IDEMPOTENCY_WAIT_SECONDS_MAX,
    MIN_REVISION_WAIT_SECONDS_MAX,
    REQUEST_BODY_SECONDS_MAX,
    REQUEST_BYTES_MAX,
    STREAM_HEARTBEAT_SECONDS,
    STREAMS_MAX,
    WEBHOOK_ANSWER_BYTES_MAX,
    WEBHOOK_ANSWER_SECONDS_MAX,
    WEBHOOK_ATTEMPTS_MAX,
    WEBHOOK_BACKOFF_SECONDS_MAX,
    WEBHOOK_BACKOFF_SECONDS_MIN,
    WEBHOOK_CONNECT_SECONDS_MAX,
    WEBHOOK_DEAD_LETTERS_MAX,
    WEBHOOK_DELIVERIES_MAX,
    WEBHOOK_LEASE_SECONDS,
)


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """How webhooks are delivered. Each default is the limit of that name; a test may lower it.

    `allow_private` lets them lead to private addresses, and over plain HTTP; `ca_file` names
    certificates to trust besides the system's. `record_seconds` is how long a success may wait
    to be recorded, `poll_seconds` how often changes by other processes are looked for.
    """

    allow_private: bool = False
    ca_file: str | None = None
    attempts_max: int = WEBHOOK_ATTEMPTS_MAX
    backoff_seconds_min: float = WEBHOOK_BACKOFF_SECONDS_MIN
    backoff_seconds_max: float = WEBHOOK_BACKOFF_SECONDS_MAX
    connect_seconds_max: float = WEBHOOK_CONNECT_SECONDS_MAX
    answer_seconds_max: float = WEBHOOK_ANSWER_SECONDS_MAX
    answer_bytes_max: int = WEBHOOK_ANSWER_BYTES_MAX
    dead_letters_max: int = WEBHOOK_DEAD_LETTERS_MAX
    deliveries_max: int = WEBHOOK_DELIVERIES_MAX
    lease_seconds: float = WEBHOOK_LEASE_SECONDS
    record_seconds: float = 1.0
    poll_seconds: float = 5.0


class Settings(Struct, frozen=True, kw_only=True):
    """How one server serves. Each default is the limit of that name; a test may lower it.

    `reader_threads` run the reads that may take longer than a few milliseconds. The short ones
    of a database server run in `short_reader_threads`, those of a file in the event loop. Each
    thread has a connection of its own; of either kind `waiting_reads_max` may wait.
    Processes of one database server tell each other of commits unless `has_notices` is false.
    `answer_cache_bytes` bounds the encoded answers kept while nothing is written.
    `allowed_origins`, in lower case, are those of web pages that may speak MCP, besides pages
    from this port of the same machine.
    """

    request_bytes_max: int = REQUEST_BYTES_MAX
    request_body_seconds_max: float = REQUEST_BODY_SECONDS_MAX
    min_revision_wait_seconds_max: float = MIN_REVISION_WAIT_SECONDS_MAX
    idempotency_wait_seconds_max: float = IDEMPOTENCY_WAIT_SECONDS_MAX
    reader_threads: int = 4
    short_reader_threads: int = 8
    has_notices: bool = True
    streams_max: int = STREAMS_MAX
    heartbeat_seconds: float = STREAM_HEARTBEAT_SECONDS
    waiting_reads_max: int = 256
    answer_cache_bytes: int = 64 * 1024 * 1024
    allowed_origins: tuple[str, ...] = ()
    webhooks: WebhookSettings = WebhookSettings()
