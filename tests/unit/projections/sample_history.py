"""A history in which every kind of event happened, so that every table has rows."""

from tests.unit.projections.history import History

LONG = "A sentence that deflates well. " * 40


def write_sample(history: History) -> None:
    """Founds a knowledge base of two scopes and lets something of every kind happen."""
    history.found()
    history.configure('{"scopes":{}}')
    org = history.create(template="", author="service:config", name="Acme")
    team = history.create(scope="team:acme:support", name="Support")
    faq = history.create(parent=org, key="faq", name="FAQ", description="Asked often")
    page = history.create(
        parent=org,
        key="refunds",
        name="Refunds",
        body=LONG,
        links=[("wiki", "FAQ", 1), ("wiki", "Nowhere", 2)],
        bound={0: faq},
    )
    child = history.create(parent=page, key="eu", name="EU")
    old = history.create(parent=org, name="Old FAQ", body="See [[FAQ]]")
    with history.commit(actor="agent:mila"):
        history.edit(page, body=LONG + "More.", links=[("wiki", "Old FAQ", 9)], bound={0: old})
        note = history.note(page, "Thirty days.", ["org:acme"], [("wiki", "FAQ", 1)], {0: old})
        history.pin(page, "org:acme")
    history.move(page, team, "refunds")
    history.merge_away(old, faq)
    history.absorb(faq, old)
    history.restamp(note, "team:acme:support")
    history.pin(page, "org:acme", "team:acme:support", depth=2)
    moved = history.note(faq, "Closed on Mondays.")
    history.move_note(moved, page)
    gone = history.note(faq, "Gone soon.")
    history.remove_note(gone)
    history.delete(child)
    history.restore(child, page, "eu")
    history.delete(child)
    history.unpin(history.pin(faq, "org:acme", kind="list"))
    history.configure("{}")
