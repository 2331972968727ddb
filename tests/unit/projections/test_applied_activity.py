"""Activity and configurations: one row an event, one configuration at a time."""

import json

from kbstore.access import load_configuration
from projections.tables import CURRENT
from tests.unit.projections.history import History
from tests.unit.projections.rows import rows_of

TOML = """
[scopes."org:acme"]
access = [{principal = "self", role = "viewer"}]
"""


def test_every_event_has_a_row_at_its_position(history: History) -> None:
    history.found()
    with history.commit(actor="agent:mila"):
        page = history.create()
        note = history.note(page)
        pin = history.pin(page, "org:acme")
    rows = rows_of(history, "activity")
    assert [(r["position"], r["revision"], r["topic"]) for r in rows] == [
        (1, 1, "knowledge_base.created"),
        (2, 2, "page.created"),
        (3, 2, "note.added"),
        (4, 2, "pin.set"),
    ]
    assert rows[0]["page_id"] is None
    assert [r["actor"] for r in rows[1:]] == ["agent:mila"] * 3
    assert [r["page_id"] for r in rows[1:]] == [page.bytes] * 3
    assert [r["scope"] for r in rows[1:]] == ["org:acme"] * 3
    assert (rows[2]["note_id"], rows[3]["pin_id"]) == (note.bytes, pin.bytes)
    assert [r["scope_before"] for r in rows] == [None] * 4


def test_a_move_between_scopes_names_both(history: History) -> None:
    org, team = history.create(), history.create(scope="team:acme:support")
    page = history.create(parent=org)
    history.move(page, team)
    row = rows_of(history, "activity", revision=history.revision)[0]
    assert (row["scope"], row["scope_before"]) == ("team:acme:support", "org:acme")
    history.move(page, team, "faq")
    row = rows_of(history, "activity", revision=history.revision)[0]
    assert (row["scope"], row["scope_before"]) == ("team:acme:support", None)


def test_a_restore_elsewhere_names_both_scopes(history: History) -> None:
    org, team = history.create(), history.create(scope="team:acme:support")
    page = history.create(parent=org)
    history.delete(page)
    history.restore(page, team)
    row = rows_of(history, "activity", revision=history.revision)[0]
    assert (row["scope"], row["scope_before"]) == ("team:acme:support", "org:acme")
    assert rows_of(history, "pages", page_id=page)[0]["scope"] == "team:acme:support"


def test_both_sides_of_a_merge_name_the_other(history: History) -> None:
    top = history.create()
    page, into = history.create(parent=top), history.create(parent=top)
    with history.commit() as revision:
        history.merge_away(page, into)
        history.absorb(into, page, "Taken over")
    rows = rows_of(history, "activity", revision=revision)
    assert [(r["page_id"], r["other_page_id"]) for r in rows] == [
        (page.bytes, into.bytes),
        (into.bytes, page.bytes),
    ]


def test_a_configuration_is_kept_until_the_next(history: History) -> None:
    history.configure('{"scopes":{}}')
    history.configure("{}")
    rows = rows_of(history, "configurations")
    assert [(r["from_revision"], r["to_revision"], r["configuration"]) for r in rows] == [
        (1, 2, '{"scopes":{}}'),
        (2, CURRENT, "{}"),
    ]


def test_the_last_configuration_of_a_commit_counts(history: History) -> None:
    with history.commit() as revision:
        history.configure('{"scopes":{}}')
        history.configure("{}")
    rows = rows_of(history, "configurations")
    assert [(r["from_revision"], r["configuration"]) for r in rows] == [(revision, "{}")]


def test_a_configuration_written_in_toml_is_kept_as_json(history: History) -> None:
    history.configure(TOML, format="toml")
    kept = str(rows_of(history, "configurations")[0]["configuration"])
    assert json.loads(kept)["scopes"]["org:acme"]["access"][0]["principal"] == "self"
    assert load_configuration(kept, "json") == load_configuration(TOML, "toml")
