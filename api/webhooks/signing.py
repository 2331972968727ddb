"""Signatures as the Standard Webhooks specification has them (v1, symmetric).

webhook-signature = "v1," base64(HMAC-SHA256(secret, id "." timestamp "." body))
"""

import base64
import hmac
import os

SECRET_BYTES = 32
_PREFIX = "whsec_"


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def format_secret(secret: bytes) -> str:
    """How a receiver gets it: `whsec_` and base64."""
    return _PREFIX + base64.b64encode(secret).decode()


def signature(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`; `timestamp` in whole seconds since the epoch."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
