"""What an attempt comes to: rules of their own, without a network, a clock or a database."""

from msgspec.structs import replace

from api.settings import WebhookSettings
from api.webhooks.backoff import backoff_seconds, retry_after_seconds
from api.webhooks.sending import Outcome
from kbstore.store.dead_letters import DeadLetter
from kbstore.store.webhooks import Progress

GONE = "gone"
TOO_MANY_DEAD_LETTERS = "tooManyDeadLetters"
_STATUS_GONE = 410


def delivered(position: int, outcome: Outcome, now: int) -> Progress:
    """After a success; `now` in UTC microseconds."""
    return Progress(position=position, attempted_at=now, last_status=outcome.status)


def failed(
    progress: Progress,
    position: int,
    outcome: Outcome,
    now: int,
    settings: WebhookSettings,
    chance: float,
) -> tuple[Progress, DeadLetter | None]:
    """After a failure: the event is tried again later, or becomes a dead letter and the next
    one's turn has come. A receiver that says it is gone gets nothing any more."""
    attempts = progress.attempts + 1 if progress.trying == position else 1
    after = replace(
        progress,
        trying=position,
        attempts=attempts,
        failing_since=now if progress.failing_since is None else progress.failing_since,
        attempted_at=now,
        last_status=outcome.status,
        last_error=outcome.error,
    )
    if outcome.status == _STATUS_GONE:
        return replace(after, disabled_at=now, disabled_reason=GONE), None
    if attempts >= settings.attempts_max:
        letter = DeadLetter(
            position=position,
            attempts=attempts,
            failed_at=now,
            last_status=outcome.status,
            last_error=outcome.error,
        )
        return replace(after, position=position, trying=None, attempts=0, next_attempt_at=0), letter
    seconds = max(
        backoff_seconds(
            attempts, settings.backoff_seconds_min, settings.backoff_seconds_max, chance
        ),
        min(retry_after_seconds(outcome.retry_after, now), settings.backoff_seconds_max),
    )
    return replace(after, next_attempt_at=now + round(seconds * 1_000_000)), None


def failed_again(letter: DeadLetter, outcome: Outcome, now: int) -> DeadLetter:
    """A dead letter that was sent once more, in vain."""
    return replace(
        letter,
        attempts=letter.attempts + 1,
        failed_at=now,
        last_status=outcome.status,
        last_error=outcome.error,
        requested_at=None,
    )
