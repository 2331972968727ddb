"""Pages over HTTP: created, read, edited."""

import httpx

from tests.http.world import create


def test_a_created_page_is_read_back_by_id_and_by_ref(owner: httpx.Client) -> None:
    page = create(owner, "Refund policy", key="refund", description="Money back", body="# Refund\n")
    by_id = owner.get(f"/pages/{page['id']}")
    by_ref = owner.get("/pages", params={"ref": "org:acme#refund"})
    assert by_id.status_code == by_ref.status_code == 200
    assert by_id.json() == by_ref.json()
    assert by_id.json()["page"] == page
    assert by_id.headers["kb-revision"] == str(by_id.json()["revision"])
    assert by_id.headers["etag"].startswith('"1-')
