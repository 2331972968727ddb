"""Checks what declarations say of one another: principals exist, parents exist, no parent loop.

Runs once, when a configuration is loaded.
"""

from collections.abc import Iterator

from kbstore.access.addresses import Pattern
from kbstore.access.configuration import AccessRule, Configuration, ScopeDeclaration
from kbstore.access.matching import PatternIndex
from kbstore.access.reading import Node

_Index = PatternIndex[ScopeDeclaration]


def check_references(configuration: Configuration) -> None:
    """Raises ConfigurationInvalidError for a principal or parent that no declaration covers
    (reason `undeclared`) and for scopes that would belong to themselves (`cyclic`)."""
    index: _Index = PatternIndex((scope.pattern, scope) for scope in configuration.scopes)
    for scope in configuration.scopes:
        node = _node(scope)
        if scope.belongs_to is not None and not _covering(index, scope.belongs_to):
            _inner(node, "belongsTo").fail(
                f'"{scope.belongs_to.text}" matches no declared scope.', "undeclared"
            )
        _check_principals(index, scope.access, node)
        for child in scope.children:
            _check_principals(index, child.access or (), _inner(node, "children", child.name))
    _check_parents(configuration, index)


def _node(scope: ScopeDeclaration) -> Node:
    return _inner(Node(None, ""), "scopes", scope.pattern.text)


def _inner(node: Node, *steps: str) -> Node:
    for step in steps:
        node = node.inner(step, None)
    return node


def _check_principals(index: _Index, rules: tuple[AccessRule, ...], node: Node) -> None:
    for position, rule in enumerate(rules):
        principal = rule.principal
        if principal is None:
            continue
        covering = _covering(index, principal)
        if principal.child:
            names = {child.name for scope in covering for child in scope.children}
            declared = principal.child in names
        else:
            declared = bool(covering)
        if not declared:
            Node(None, f"{node.path}.access[{position}].principal").fail(
                f'"{principal.text}" matches no declared scope; nobody can hold it.', "undeclared"
            )


def _covering(index: _Index, pattern: Pattern) -> list[ScopeDeclaration]:
    """The declarations that every address of the pattern matches, most specific first.

    A parameter is looked up as if it were a value: no fixed segment can equal it, so only
    declarations with a parameter at its place are found.
    """
    return [scope for _, scope in index.find(":".join(pattern.segments))]


def _check_parents(configuration: Configuration, index: _Index) -> None:
    """Walks from parent to parent's parent, over patterns, and refuses to arrive twice.

    Looks at patterns only: `team:$a:$b` in `team:$b:$a` is refused although a chain of
    addresses could end, since nothing shows that all of them do.
    """
    scopes = sorted(configuration.scopes, key=_specificity)
    shapes: dict[tuple[int, str], list[ScopeDeclaration]] = {}
    for scope in scopes:
        if scope.belongs_to is not None:
            segments = scope.pattern.segments
            shapes.setdefault((len(segments), segments[0]), []).append(scope)

    def steps(parent: Pattern) -> Iterator[tuple[Pattern, ScopeDeclaration]]:
        candidates = shapes.get((len(parent.segments), parent.segments[0]), [])
        for scope in _deciding(parent, candidates, index):
            if scope.belongs_to is not None:
                yield _anonymous(scope.belongs_to), scope

    finished: set[Pattern] = set()
    for start in {_anonymous(s.belongs_to): None for s in scopes if s.belongs_to is not None}:
        if start in finished:
            continue
        open_patterns = {start}
        stack = [(start, steps(start))]
        while stack:
            pattern, remaining = stack[-1]
            step = next(remaining, None)
            if step is None:
                stack.pop()
                open_patterns.remove(pattern)
                finished.add(pattern)
                continue
            following, scope = step
            if following in open_patterns:
                _inner(_node(scope), "belongsTo").fail(
                    "makes scopes of this declaration belong to themselves.", "cyclic"
                )
            if following not in finished:
                open_patterns.add(following)
                stack.append((following, steps(following)))


def _deciding(
    parent: Pattern, candidates: list[ScopeDeclaration], index: _Index
) -> Iterator[ScopeDeclaration]:
    """The declarations that can decide where an address of `parent` belongs.

    The most specific one that states a parent decides; so none that is wider than the first
    which covers all of `parent` ever does.
    """
    if parent.is_concrete:
        yield from [s for s in _covering(index, parent) if s.belongs_to is not None][:1]
        return
    for scope in candidates:
        if scope.pattern.overlaps(parent):
            yield scope
            if scope.pattern.covers(parent):
                return


def _specificity(scope: ScopeDeclaration) -> tuple[int, tuple[int, ...]]:
    positions = scope.pattern.fixed_positions
    return -len(positions), positions


def _anonymous(pattern: Pattern) -> Pattern:
    """The same set of addresses, whatever its parameters are called."""
    return Pattern(tuple("$" if s.startswith("$") else s for s in pattern.segments))
