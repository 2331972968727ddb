"""What a message is: one JSON-RPC 2.0 request or notification.

The SDK looks as well, but its older leg takes a request with a wrong id for a notification and
answers other mistakes with its own inside.
"""

from typing import TypeGuard

from projections.views import Json


def is_message(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a body is one message. Answers to requests of the server are none: it makes no
    requests."""
    return (
        isinstance(value, dict)
        and value.get("jsonrpc") == "2.0"
        and isinstance(value.get("method"), str)
        and ("id" not in value or _is_id(value["id"]))
        and ("params" not in value or isinstance(value["params"], dict))
    )


def _is_id(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
