"""knowledge_read, sentence by sentence (reference 2): whole pages, and what is not there."""

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door
from tests.tools.reading import FLAT, LONG, add_note, items, made_long, more, page_of, read

# --- without a page ----------------------------------------------------------------------------


def test_without_page_it_lists_the_scopes_the_run_holds(asking: Ask, open_door: OpenDoor) -> None:
    door = open_door(asking("user:eve", VAULT, "viewer:acme", "nowhere:else"))
    scopes = items(read(door, None), "scopes")
    assert [(each["ref"], each["held"], each["role"]) for each in scopes] == [
        ("nowhere:else", True, None),
        (VAULT, True, "owner"),
        ("viewer:acme", True, None),
    ]
    assert "merge and delete pages" in scopes[1]["can"]  # type: ignore[operator]
    assert scopes[0]["can"] == []


def test_parts_need_a_page(door: Door) -> None:
    for arguments in ({"outline": True}, {"notes": True}, {"from": {"line": 1}}):
        assert read(door, None, **arguments).details["field"] == "page"


# --- a whole read ------------------------------------------------------------------------------


def test_a_body_that_fits_comes_back_as_it_is(ana: Client, door: Door) -> None:
    page = ana.made("p", name="Page", description="Short", body="# One\n\nTwo\n")
    found = page_of(read(door, page.ref))
    assert found.pop("updatedAt")
    assert found == {
        "id": page.id,
        "ref": f"{SCOPE}#p",
        "scope": SCOPE,
        "name": "Page",
        "description": "Short",
        "version": 1,
        "role": "owner",
        "updatedBy": "user:ana",
        "body": "# One\n\nTwo\n",
    }


def test_a_page_that_only_groups_has_no_body(ana: Client, door: Door) -> None:
    page = ana.made("p")
    child = ana.made("c", parent=page.id)
    whole = read(door, page.ref)
    assert page_of(whole)["body"] is None
    assert items(whole, "children") == [{"ref": child.ref, "name": "c", "children": 0}]


def test_a_scope_address_reads_its_page_with_pages_and_child_scopes(
    kb: KnowledgeBase, asking: Ask, open_door: OpenDoor
) -> None:
    kb.configure(
        '[scopes."org:$org"]\naccess = [{principal = "self", role = "owner"}]\n'
        'displayLabel = "The $org"\ndescription = "All of it"\n'
        '[scopes."org:$org".children.staff]\n'
        '[scopes."team:$org:$team"]\nbelongsTo = "org:$org"\n'
        'access = [{principal = "org:$org", role = "editor"}]\n'
    )
    ana = asking("user:ana")
    ana.made("a")
    ana.made("t", scope=TEAM)
    whole = read(open_door(ana), SCOPE)
    assert page_of(whole)["name"] == "The acme"
    assert page_of(whole)["description"] == "All of it"
    assert [each["ref"] for each in items(whole, "children")] == [f"{SCOPE}#a"]
    assert [(each["ref"], each["role"]) for each in items(whole, "childScopes")] == [
        (f"{SCOPE}/staff", "owner"),
        (TEAM, "editor"),
    ]


def test_a_long_body_without_headings_comes_back_as_its_first_lines(
    ana: Client, door: Door
) -> None:
    made_long(ana, FLAT)
    whole = read(door)
    page = page_of(whole)
    lines = page["lines"]
    assert isinstance(lines, list)
    last = len(lines)
    assert lines[0] == "1│plain line 0"
    assert lines[11] == "12│plain line 11"
    assert page["range"] == {"start": {"line": 1}, "end": {"line": last}}
    assert page["lineCount"] == 600
    assert "body" not in page
    assert more(whole) == [
        f'body: showing lines 1–{last} of 600. Read on with from: {{"line":{last + 1}}}.'
    ]


def test_a_long_body_with_headings_is_shown_at_a_glance(ana: Client, door: Door) -> None:
    made_long(ana)
    whole = read(door)
    page = page_of(whole)
    lines = page["lines"]
    assert isinstance(lines, list)
    for part in range(10):
        assert any(line.endswith(f"│## Part {part}") for line in lines)
        assert any(line.startswith("⋯ lines ") for line in lines)
    assert "range" not in page
    assert page["lineCount"] == len(LONG.split("\n"))
    (line,) = more(whole)
    assert line.startswith("body: ")


def test_more_headings_than_fit_give_the_first_lines_and_the_headings_not_reached(
    ana: Client, door: Door
) -> None:
    body = "\n".join(f"# heading number {number}\ntext" for number in range(400))
    made_long(ana, body)
    whole = read(door)
    page = page_of(whole)
    reached = page["range"]["end"]["line"]  # type: ignore[index]
    outline = page["outline"]
    assert isinstance(outline, list)
    assert outline[0]["line"] == (reached + 2 if reached % 2 else reached + 1)
    assert len(more(whole)) == 2


def test_a_smaller_cap_is_a_setting(kb: KnowledgeBase, ana: Client, door: Door) -> None:
    page = ana.made("p", body="word " * 200)
    assert "body" in page_of(read(door, page.ref))
    kb.configure(
        '[settings]\nreadTokens = 100\n[scopes."org:$org"]\n'
        'access = [{principal = "self", role = "owner"}]\n'
    )
    assert "body" not in page_of(read(door, page.ref))


def test_children_past_the_limit_are_listed_elsewhere(ana: Client, door: Door) -> None:
    page = ana.made("p")
    for number in range(12):
        ana.made(f"c{number:02}", parent=page.id)
    whole = read(door, page.ref)
    assert len(items(whole, "children")) == 10
    assert more(whole) == [
        'children: showing 10 of 12. List them with knowledge_list and from: "org:acme#p".'
    ]
    assert len(items(read(door, page.ref, limit=12), "children")) == 12


# --- what is not there -------------------------------------------------------------------------


def test_a_page_that_does_not_exist_lists_close_matches(ana: Client, door: Door) -> None:
    for key in ("refund-policy", "refund-policies", "return-policy", "something-else"):
        ana.made(key)
    missing = read(door, f"{SCOPE}#refund-polcy")
    assert missing.code == "NOT_FOUND"
    close = missing.details["closeMatches"]
    assert isinstance(close, list)
    assert close[0] == f"{SCOPE}#refund-policy"
    assert len(close) == 3
    assert missing.message == (
        f'Knowledge page "{SCOPE}#refund-polcy" not found. Close matches: {", ".join(close)}.'
    )


def test_nothing_close_is_just_not_found(ana: Client, door: Door) -> None:
    ana.made("refund")
    assert read(door, "qqqq").message == 'Knowledge page "qqqq" not found.'


def test_a_hidden_page_is_absent_and_never_suggested(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    ana.made("secret-plan", scope=TEAM, name="Secret plan")
    viewer = open_door(asking("user:vic", "viewer:acme"))
    for asked in (f"{TEAM}#secret-plan", "Secret plan", "secret-plan"):
        assert read(viewer, asked).refused == {
            "code": "NOT_FOUND",
            "message": f'Knowledge page "{asked}" not found.',
            "httpStatus": 404,
        }


def test_an_ambiguous_name_names_the_refs(ana: Client, door: Door) -> None:
    first = ana.made("a", name="Chargeback Playbook")
    second = ana.made("b", name="Chargeback Playbook", scope=TEAM)
    ambiguous = read(door, "Chargeback Playbook")
    assert ambiguous.code == "AMBIGUOUS_REFERENCE"
    assert ambiguous.message == (
        'Knowledge page name "Chargeback Playbook" is ambiguous; use one of these refs: '
        f"{first.ref}, {second.ref}."
    )


def test_a_moved_or_merged_page_leads_to_where_it_went(ana: Client, door: Door) -> None:
    page, into = ana.made("old"), ana.made("into")
    ana.move(page.id, key="new")
    moved = read(door, f"{SCOPE}#old")
    assert moved.message == (
        f'Knowledge page "{SCOPE}#old" not found. It was moved to {SCOPE}#new.'
    )
    ana.merge(page.id, into.id)
    merged = read(door, page.id)
    assert merged.details == {"mergedInto": into.id}
    assert merged.message.endswith(f"It was merged into {into.id}.")


# --- the past ----------------------------------------------------------------------------------


def test_every_part_is_read_at_a_revision(ana: Client, door: Door) -> None:
    page = ana.made("p", body="# Old\nold text")
    revision = ana.part("/scopes").revision
    ana.edit(page.id, body="# New\nnew text")
    add_note(ana, page, "later")
    at = read(door, page.ref, revision=revision)
    assert (page_of(at)["body"], page_of(at)["version"]) == ("# Old\nold text", 1)
    assert items(at, "notes") == []
    assert at.ok["revision"] == revision
    outline = page_of(read(door, page.ref, outline=True, revision=revision))["outline"]
    assert [entry["title"] for entry in outline] == ["Old"]  # type: ignore[attr-defined]
    assert items(read(door, page.ref, match="new", revision=revision), "matches") == []
    beyond = read(door, page.ref, revision=10_000)
    assert beyond.code == "REVISION_NOT_REACHED"
