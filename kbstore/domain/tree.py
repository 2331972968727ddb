"""The page tree as rules see it: levels, key paths, keys among siblings, declared places."""

from kbstore.access import declaration_of
from kbstore.domain.decision import Context
from kbstore.domain.declared import DeclaredPage, KeyPath, way_down
from kbstore.domain.state import PageState
from kbstore.errors import KeyTakenError, NestingTooDeepError, PageDeclaredError
from kbstore.limits import NESTING_LEVELS_MAX


def level_of(context: Context, page: PageState) -> int:
    """How many levels below its scope page a page stands: 0 for the scope page itself."""
    if page.is_virtual:
        return len(_declared_path(page))
    return len(context.lookup.ancestors(page.page_id))


def key_path(context: Context, page: PageState) -> KeyPath | None:
    """The keys from the scope page down to the page; None where a level has none."""
    if page.is_virtual:
        return _declared_path(page)
    if page.is_scope_page:
        return ()
    way = [page, *context.lookup.ancestors(page.page_id)[:-1]]
    keys = [above.key for above in reversed(way) if above.key is not None]
    return tuple(keys) if len(keys) == len(way) else None


def ref_of(context: Context, page: PageState) -> str:
    """How a page is named to people: scope address, `scope#key/key`, or its id."""
    path = key_path(context, page)
    if path is None:
        return str(page.page_id)
    return f"{page.scope}#{'/'.join(path)}" if path else page.scope


def is_declared(context: Context, page: PageState) -> bool:
    """Whether a template page is declared where the page stands.

    Templates are declared inside each other, so where a page is not declared, nothing below
    it is: asking at the top answers for a whole subtree.
    """
    declaration = declaration_of(context.configuration, page.scope)
    if declaration is None or not declaration.templates.pages or page.is_scope_page:
        return False
    path = key_path(context, page)
    return path is not None and declaration.templates.page(path) is not None


def refuse_declared(context: Context, page: PageState, change: str) -> None:
    """Raises PageDeclaredError for a template page; `change` is `move` or `remove`."""
    if is_declared(context, page):
        ref = ref_of(context, page)
        raise PageDeclaredError(
            f'"{ref}" is declared in config; change the scope\'s pages to {change} it.',
            pageId=str(page.page_id),
            ref=ref,
        )


def holder_of_key(context: Context, parent: PageState, key: str) -> PageState | None:
    """The child that has this key, live or declared and unwritten; keys compare folded."""
    live = context.lookup.child_by_key(parent.page_id, key)
    if live is not None:
        return live
    declaration = declaration_of(context.configuration, parent.scope)
    if declaration is None or not declaration.templates.pages:
        return None
    above = key_path(context, parent)
    if above is None or declaration.templates.page((*above, key)) is None:
        return None
    way = way_down(
        context.configuration, context.kb_id, parent.scope, (*above, key), context.lookup
    )
    assert way is not None, "a declared place has a page"
    return way[-1].state if isinstance(way[-1], DeclaredPage) else way[-1]


def check_key_free(
    context: Context, parent: PageState, key: str | None, page: PageState | None = None
) -> None:
    """Raises KeyTakenError when another child than `page` has this key."""
    if key is None:
        return
    holder = holder_of_key(context, parent, key)
    if holder is not None and (page is None or holder.page_id != page.page_id):
        raise key_taken(parent, key, holder)


def key_taken(parent: PageState, key: str, holder: PageState, **details: object) -> KeyTakenError:
    return KeyTakenError(
        f'Knowledge page key "{key}" already exists under page {parent.page_id}. Keys are unique '
        "among siblings; pick another key or move one of the pages.",
        parentId=str(parent.page_id),
        key=key,
        pageId=str(holder.page_id),
        **details,
    )


def check_levels(parent_level: int, levels_below: int) -> None:
    """Raises NestingTooDeepError when a page would stand more than NESTING_LEVELS_MAX below
    its scope page; `levels_below` counts the levels that come to stand below the parent."""
    levels = parent_level + levels_below
    if levels > NESTING_LEVELS_MAX:
        raise NestingTooDeepError(
            f"Pages nest at most {NESTING_LEVELS_MAX} levels below their scope page; "
            f"this would make {levels}.",
            maximum=NESTING_LEVELS_MAX,
            levels=levels,
        )


def _declared_path(page: PageState) -> KeyPath:
    return tuple(page.template.split("/")) if page.template else ()
