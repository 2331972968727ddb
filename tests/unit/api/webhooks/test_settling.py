"""What an attempt comes to."""

from api.settings import WebhookSettings
from api.webhooks.sending import Outcome
from api.webhooks.settling import delivered, failed, failed_again
from kbstore.limits import WEBHOOK_ATTEMPTS_MAX
from kbstore.store.dead_letters import DeadLetter
from kbstore.store.webhooks import Progress

SETTINGS = WebhookSettings()
SECOND = 1_000_000
BROKEN = Outcome(500, "status")


def fail(progress: Progress, position: int, outcome: Outcome, now: int) -> Progress:
    after, letter = failed(progress, position, outcome, now, SETTINGS, 0.0)
    assert letter is None
    return after


def test_a_success_ends_a_row_of_failures() -> None:
    failing = fail(Progress(position=3), 4, BROKEN, SECOND)
    assert failing.failing_since == SECOND
    assert delivered(4, Outcome(204, None), 2 * SECOND) == Progress(
        position=4, attempted_at=2 * SECOND, last_status=204
    )


def test_failures_are_counted_and_each_waits_longer() -> None:
    progress = fail(Progress(position=3), 4, BROKEN, 0)
    assert (progress.position, progress.trying, progress.attempts) == (3, 4, 1)
    assert progress.next_attempt_at == 5 * SECOND
    progress = fail(progress, 4, Outcome(None, "timeout"), 5 * SECOND)
    assert (progress.attempts, progress.next_attempt_at) == (2, 15 * SECOND)
    assert (progress.last_status, progress.last_error) == (None, "timeout")
    assert progress.failing_since == 0


def test_another_event_is_counted_anew() -> None:
    """The one before it may not be seen any more."""
    progress = fail(fail(Progress(position=3), 4, BROKEN, 0), 6, BROKEN, SECOND)
    assert (progress.trying, progress.attempts) == (6, 1)


def test_the_last_attempt_makes_a_dead_letter_and_the_next_event_has_its_turn() -> None:
    progress = Progress(position=3)
    for _ in range(WEBHOOK_ATTEMPTS_MAX - 1):
        progress = fail(progress, 4, BROKEN, SECOND)
    assert progress.attempts == WEBHOOK_ATTEMPTS_MAX - 1
    progress, letter = failed(progress, 4, BROKEN, 9 * SECOND, SETTINGS, 0.0)
    assert letter == DeadLetter(
        position=4,
        attempts=WEBHOOK_ATTEMPTS_MAX,
        failed_at=9 * SECOND,
        last_status=500,
        last_error="status",
    )
    assert (progress.position, progress.trying, progress.attempts) == (4, None, 0)
    assert progress.next_attempt_at == 0
    assert progress.failing_since == SECOND


def test_a_receiver_may_ask_for_more_time_within_bounds() -> None:
    asked = fail(Progress(position=3), 4, Outcome(429, "status", "60"), 0)
    assert asked.next_attempt_at == 60 * SECOND
    too_much = fail(Progress(position=3), 4, Outcome(503, "status", "999999"), 0)
    assert too_much.next_attempt_at == 3_600 * SECOND
    too_little = fail(Progress(position=3), 4, Outcome(503, "status", "1"), 0)
    assert too_little.next_attempt_at == 5 * SECOND


def test_a_receiver_that_is_gone_is_not_asked_again() -> None:
    progress = fail(Progress(position=3), 4, Outcome(410, "status"), SECOND)
    assert (progress.disabled_at, progress.disabled_reason) == (SECOND, "gone")
    assert progress.position == 3


def test_a_dead_letter_counts_what_was_tried_in_vain() -> None:
    letter = DeadLetter(
        position=4,
        attempts=10,
        failed_at=0,
        last_status=500,
        last_error="status",
        requested_at=SECOND,
    )
    again = failed_again(letter, Outcome(None, "tls"), 2 * SECOND)
    assert again == DeadLetter(
        position=4, attempts=11, failed_at=2 * SECOND, last_status=None, last_error="tls"
    )
