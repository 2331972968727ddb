"""Configurations as text, and what loading one of them is refused for."""

import json

import pytest

from kbstore.access import load_configuration
from kbstore.errors import ConfigurationInvalidError

ORG = 'scopes."org:$org"'
"""The path of the scope that `scopes(org=...)` declares."""


def scopes(**declared: object) -> str:
    """JSON of a configuration; `org` there stands for `org:$org`."""
    return json.dumps({"scopes": {"org:$org" if k == "org" else k: v for k, v in declared.items()}})


def refusal(text: str, format: str = "json") -> tuple[str, str]:
    with pytest.raises(ConfigurationInvalidError) as refused:
        load_configuration(text, "toml" if format == "toml" else "json")
    error = refused.value
    error.message.encode()
    path, reason = error.details["path"], error.details["reason"]
    assert isinstance(path, str)
    assert isinstance(reason, str)
    assert path in error.message
    return path, reason
