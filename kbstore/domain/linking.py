"""Binding links: which page each link of a text leads to, as its writer can see it.

A bound link follows the page's id wherever it goes. What cannot be resolved stays unbound and
is tried again by whoever reads it.
"""

from collections.abc import Callable
from urllib.parse import unquote

from kbstore.access import Access, parse_address
from kbstore.domain.declared import KeyPath
from kbstore.domain.drafting import Target
from kbstore.domain.events import Links
from kbstore.domain.lookup import Lookup
from kbstore.domain.state import PageState
from kbstore.errors import ValidationError
from kbstore.ids import parse_uuid
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.texts import LinkTarget, PreparedBody, PreparedText


def bind(
    prepared: PreparedText | PreparedBody | None,
    access: Access,
    lookup: Lookup,
    folder_of_text: Callable[[], PageState | None],
) -> Links | None:
    """The links of a text, each bound to the one live, readable page it leads to; None without.

    Relative links start from the folder, as files do: the page above the one that holds the
    text, or a scope page itself. None leaves them unbound. It is asked for only if there are
    any.
    """
    text = prepared.text if isinstance(prepared, PreparedBody) else prepared
    if text is None or text.targets is None:
        return None
    folder = folder_of_text() if any(link.kind != "wiki" for link in text.links) else None
    bound = []
    for index, link in enumerate(text.links):
        page = _resolve(link, access, lookup, folder)
        if page is not None:
            bound.append((index, page.page_id))
    return Links(text.targets.ref, tuple(bound))


def folder_of(lookup: Lookup, target: Target) -> PageState | None:
    """Where the relative links of a page start: at the page above it."""
    page = target.page
    if page.parent_id is None:
        return page
    if len(target.unwritten) > 1:
        return target.unwritten[-2].state
    return lookup.page(page.parent_id)


def _resolve(
    link: LinkTarget, access: Access, lookup: Lookup, folder: PageState | None
) -> PageState | None:
    if link.kind == "wiki":
        page = _wiki(link.target, access, lookup)
    else:
        page = _relative(link.target, lookup, folder)
    return page if page is not None and page.is_live and access.can_read(page.scope) else None


def _wiki(target: str, access: Access, lookup: Lookup) -> PageState | None:
    """`[[id]]`, `[[scope]]`, `[[scope#key/key]]` or `[[Page Name]]`, the last if just one fits."""
    page_id = parse_uuid(target)
    if page_id is not None:
        return lookup.page(page_id)
    address, _, path = target.partition("#")
    scope = _address(address)
    if scope is not None and access.can_read(scope):
        top = lookup.scope_page(scope)
        page = _down(lookup, top, [key for key in path.split("/") if key]) if top else None
        if page is not None:
            return page
    named = lookup.pages_named(target, access.readable, 2)
    return named[0] if len(named) == 1 else None


def _relative(target: str, lookup: Lookup, folder: PageState | None) -> PageState | None:
    """`c.md`, `../x.md`, `sub/y`, or a page id, as seen from `folder`.

    `.md` may stand or not, a fragment and a query are for the reader of the page.
    """
    path = target.partition("#")[0].partition("?")[0]
    page_id = parse_uuid(path)
    if page_id is not None:
        return lookup.page(page_id)
    if folder is None or path.startswith("/"):
        return None
    segments = [unquote(segment) for segment in path.split("/") if segment not in ("", ".")]
    up = 0
    while up < len(segments) and segments[up] == "..":
        up += 1
    if up > NESTING_LEVELS_MAX or ".." in segments[up:]:
        # A ".." after a name would need the page of that name; nobody writes it.
        return None
    here: PageState | None = folder
    for _ in range(up):
        here = lookup.page(here.parent_id) if here is not None and here.parent_id else None
    keys = segments[up:]
    if keys:
        keys[-1] = keys[-1].removesuffix(".md")
    if any("\0" in key for key in keys):
        # No key holds one, and PostgreSQL takes no such question.
        return None
    return _down(lookup, here, keys) if here is not None else None


def _down(lookup: Lookup, top: PageState, keys: list[str] | KeyPath) -> PageState | None:
    if len(keys) > NESTING_LEVELS_MAX:
        return None
    here: PageState | None = top
    for key in keys:
        if here is None:
            return None
        here = lookup.child_by_key(here.page_id, key)
    return here


def _address(text: str) -> str | None:
    try:
        return parse_address(text, "scope")
    except ValidationError:
        return None
