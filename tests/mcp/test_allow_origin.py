"""`kbstore serve --allow-origin`: which web pages may speak MCP."""

import pytest
from click.testing import CliRunner

from api.cli import main
from api.settings import Settings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of each server that a command would have started."""
    found: list[Settings] = []

    def keep(*_: object, settings: Settings, **__: object) -> None:
        found.append(settings)

    monkeypatch.setattr("api.cli.serving.serve_database", keep)
    return found


def test_origins_come_from_the_option_or_the_environment(served: list[Settings]) -> None:
    runner = CliRunner()
    option = ["serve", "--allow-origin", "https://App.Example", "--allow-origin", "null-app://x"]
    assert runner.invoke(main, option).exit_code == 0
    environment = {"KBSTORE_ALLOW_ORIGIN": "https://a.example http://[::1]:3000"}
    assert runner.invoke(main, ["serve"], env=environment).exit_code == 0
    assert runner.invoke(main, ["serve"]).exit_code == 0
    assert [settings.allowed_origins for settings in served] == [
        ("https://app.example", "null-app://x"),
        ("https://a.example", "http://[::1]:3000"),
        (),
    ]


@pytest.mark.parametrize(
    "origin", ["null", "*", "app.example", "https://", "https://a.example/", "https://*.example"]
)
def test_what_no_browser_sends_is_refused(served: list[Settings], origin: str) -> None:
    refused = CliRunner().invoke(main, ["serve", "--allow-origin", origin])
    assert refused.exit_code == 2
    assert "https://HOST" in refused.output
    assert served == []
