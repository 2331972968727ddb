"""Signatures, held against the worked example that implementations of the specification share."""

import base64

from api.webhooks.signing import SECRET_BYTES, format_secret, new_secret, signature


def test_the_worked_example_of_the_specification() -> None:
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(
        secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}'
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_is_written_as_the_specification_says() -> None:
    secret = new_secret()
    assert len(secret) == SECRET_BYTES
    assert new_secret() != secret
    written = format_secret(secret)
    assert base64.b64decode(written.removeprefix("whsec_"), validate=True) == secret


def test_each_part_counts() -> None:
    signed = signature(b"secret", "id", 1, b"body")
    others = [
        signature(b"other", "id", 1, b"body"),
        signature(b"secret", "other", 1, b"body"),
        signature(b"secret", "id", 2, b"body"),
        signature(b"secret", "id", 1, b"other"),
    ]
    assert signed not in others
