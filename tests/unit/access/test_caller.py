import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.access import Access, Caller, Role, load_configuration, parse_principal
from kbstore.errors import NotFoundError, RoleTooWeakError, ValidationError
from kbstore.limits import HELD_SCOPES_MAX, PRINCIPAL_CODE_POINTS_MAX

ACME = load_configuration(
    """
    [scopes."org:$org"]
    access = [{ principal = "self", role = "viewer" }, { principal = "user:boss", role = "owner" }]

    [scopes."user:$id"]

    [scopes."team:$org:$team"]
    access = [{ principal = "self", role = "editor" }, { principal = "org:$org", role = "viewer" }]
    """,
    "toml",
)
KNOWN = frozenset({"org:acme", "org:beta", "team:acme:ops", "team:acme:sales", "gone:scope"})


def access(*held: str, grants: frozenset[str] = frozenset()) -> Access:
    caller = Caller(principal="agent:one", held=frozenset(held), grants=grants, key_id="k")
    return Access(ACME, caller, KNOWN)


AUDITOR = frozenset({"auditor"})


@pytest.mark.parametrize("text", ["agent:a", "user:Ann Smith", "service:config", "user:a:b/漢"])
def test_principals_are_kept(text: str) -> None:
    assert parse_principal(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "agent", "agent:", "robot:a", "Agent:a", " agent:a", "agent: a", "user:a ", "user:a\nb",
     "user:a\u2028b", "user:\u200b", "user:a\x00", "user:\ud800"],
)  # fmt: skip
def test_other_principals_are_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_principal(text)
    assert refused.value.details == {"field": "principal", "reason": "malformed"}


def test_principals_are_nfc_and_limited() -> None:
    assert parse_principal("user:e\u0301") == "user:é"
    longest = "user:" + "x" * (PRINCIPAL_CODE_POINTS_MAX - 5)
    assert parse_principal(longest) == longest
    with pytest.raises(ValidationError) as refused:
        parse_principal(longest + "x", "actor")
    assert refused.value.details["field"] == "actor"
    assert refused.value.details["reason"] == "tooLong"


def test_a_caller_has_known_grants_and_a_bounded_number_of_scopes() -> None:
    most = frozenset(f"org:{i}" for i in range(HELD_SCOPES_MAX))
    assert Caller(principal="agent:a", held=most).held == most
    with pytest.raises(ValidationError):
        Caller(principal="agent:a", held=most | {"org:x"})
    with pytest.raises(ValidationError):
        Caller(principal="agent:a", grants=frozenset({"root"}))


@given(st.frozensets(st.sampled_from("abcd")), st.lists(st.sampled_from("abcdef")))
def test_narrowing_never_widens(held: frozenset[str], named: list[str]) -> None:
    caller = Caller(principal="agent:a", held=held, grants=AUDITOR, key_id="k")
    narrowed = caller.narrow(named)
    assert narrowed.held == held & set(named)
    assert (narrowed.principal, narrowed.grants, narrowed.key_id) == ("agent:a", AUDITOR, "k")


def test_readable_and_owned_are_among_the_known_scopes() -> None:
    member = access("org:acme")
    assert member.readable == {"org:acme", "team:acme:ops", "team:acme:sales"}
    assert member.owned == frozenset()
    assert access("user:boss").owned == {"org:acme", "org:beta"}
    assert access().readable == frozenset()


def test_other_addresses_can_be_asked_about_too() -> None:
    member = access("org:acme")
    assert member.role("team:acme:new") is Role.VIEWER
    assert member.can_read("team:acme:new")
    assert not member.can_read("team:beta:new")
    assert member.role("gone:scope") is None


def test_an_auditor_reads_everything_and_writes_nothing() -> None:
    auditor = access(grants=AUDITOR)
    assert auditor.is_auditor
    assert auditor.readable == KNOWN
    assert auditor.owned == frozenset()
    assert auditor.role("gone:scope") is Role.VIEWER
    assert auditor.can_read("never:seen")
    assert auditor.can_read_deleted("org:acme")
    assert not auditor.has_pin_authority("org:acme")
    with pytest.raises(RoleTooWeakError):
        auditor.require(Role.CONTRIBUTOR, "org:acme", "Adding a note")


def test_a_refusal_tells_an_auditor_what_he_has() -> None:
    with pytest.raises(RoleTooWeakError) as refused:
        access(grants=AUDITOR).require(Role.EDITOR, "org:acme", "Editing a page")
    assert refused.value.message == (
        'Editing a page needs editor on "org:acme"; this run only audits there.'
    )
    assert refused.value.details["actual"] == "auditor"
    # Reading is all he may do, and no role says so.
    with pytest.raises(RoleTooWeakError):
        access(grants=AUDITOR).require(Role.VIEWER, "org:acme", "Watching a page")
    with pytest.raises(RoleTooWeakError) as refused:
        access("org:acme", grants=AUDITOR).require(Role.EDITOR, "team:acme:ops", "Editing a page")
    assert refused.value.details["actual"] == "viewer"
    assert access("org:acme").standing("org:beta") == "none"


def test_an_audience_shows_to_who_reads_or_holds_it() -> None:
    member = access("org:acme")
    assert member.knows_audience("org:acme")
    assert member.knows_audience("team:acme:ops")
    assert not member.knows_audience("org:beta")
    assert access("gone:scope").knows_audience("gone:scope")
    assert access(grants=AUDITOR).knows_audience("never:seen")


def test_an_auditor_keeps_the_roles_he_has() -> None:
    assert access("team:acme:ops", grants=AUDITOR).role("team:acme:ops") is Role.EDITOR
    assert access("user:boss", grants=AUDITOR).owned == {"org:acme", "org:beta"}


def test_being_admin_reads_nothing() -> None:
    admin = access(grants=frozenset({"admin"}))
    assert admin.caller.is_admin
    assert admin.readable == frozenset()


def test_deleted_pages_show_to_owners() -> None:
    assert access("user:boss").can_read_deleted("org:acme")
    assert not access("team:acme:ops").can_read_deleted("team:acme:ops")
    assert not access("org:acme").can_read_deleted("org:beta")


def test_pin_authority_is_holding_the_scope_or_editing_it() -> None:
    assert access("org:acme").has_pin_authority("org:acme")
    assert not access("org:acme").has_pin_authority("team:acme:ops")
    assert access("team:acme:ops").has_pin_authority("team:acme:ops")
    assert access("user:boss").has_pin_authority("org:beta")


def test_a_role_too_weak_is_refused_in_the_words_of_the_reference() -> None:
    member = access("org:acme")
    member.require(Role.VIEWER, "team:acme:ops", "Reading a page")
    with pytest.raises(RoleTooWeakError) as refused:
        member.require(Role.EDITOR, "team:acme:ops", "Editing a page")
    assert refused.value.message == (
        'Editing a page needs editor on "team:acme:ops"; this run has viewer there.'
    )
    assert refused.value.details == {
        "scope": "team:acme:ops",
        "needed": "editor",
        "actual": "viewer",
    }
    assert (refused.value.code, refused.value.http_status) == ("ROLE_TOO_WEAK", 403)


@pytest.mark.parametrize("address", ["org:beta", "gone:scope", "never:seen"])
def test_requiring_a_role_never_tells_that_a_hidden_scope_is_there(address: str) -> None:
    with pytest.raises(NotFoundError) as refused:
        access("org:acme").require(Role.EDITOR, address, "Editing a page")
    assert refused.value.message == f'Knowledge page "{address}" not found.'
    assert refused.value.details == {}


def test_the_fingerprint_tells_callers_apart_by_what_they_see() -> None:
    several = [
        access(),
        access("org:acme"),
        access("org:beta"),
        access("user:boss"),
        access("team:acme:ops"),
        access("team:acme:ops", "org:acme"),
        access(grants=AUDITOR),
        access(grants=frozenset({"admin"})),
        access("user:boss", grants=AUDITOR),
    ]
    assert len({one.fingerprint for one in several}) == len(several)
    assert {len(one.fingerprint) for one in several} == {32}
    assert access("org:acme").fingerprint == access("org:acme").fingerprint


def test_the_fingerprint_does_not_depend_on_what_is_hidden() -> None:
    caller = Caller(principal="agent:one", held=frozenset({"org:acme"}))
    here = Access(ACME, caller, frozenset({"org:acme"}))
    elsewhere = Access(ACME, caller, frozenset({"org:acme", "org:beta", "gone:scope"}))
    assert here.fingerprint == elsewhere.fingerprint
