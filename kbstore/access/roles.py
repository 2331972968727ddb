"""Which role a run has on a scope: one pure function of what is declared and what it holds.

1. The scopes a run holds are its principals.
2. A rule applies when one of them matches its principal: `self` (holding the very scope), a
   pattern, or an address. What the principal's parameters are bound to is put into the
   declaring pattern, which gives the scopes reached; its other parameters stand for any value.
3. All declarations that match a scope count, so a concrete one adds to its pattern's rules.
   The strongest role wins.
4. One hop: a scope that is only reached never acts as a principal.
5. A child scope follows the rules of its own `access`. Where the widest declaration that has
   the child gives none, the rules of its parent count too, and for those holding the child is
   holding the scope itself. Narrower declarations add rules, so none ever takes a role away.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from kbstore.access.addresses import Pattern, split_address
from kbstore.access.configuration import AccessRule, Configuration, Role, ScopeDeclaration
from kbstore.access.matching import PatternIndex

_CONFIGURATIONS_CACHED_MAX = 16
_HOLDERS_CACHED_MAX = 64
_ADDRESSES_CACHED_MAX = 20_000


def role_of(configuration: Configuration, held: frozenset[str], address: str) -> Role | None:
    """The role of a run that holds these scopes; None where it has none, also on an address
    that is not declared."""
    return reach_of(configuration, held).role(address)


@lru_cache(maxsize=_HOLDERS_CACHED_MAX)
def reach_of(configuration: Configuration, held: frozenset[str]) -> "Reach":
    """All that a run which holds these scopes reaches; costs as much as it has rules to apply,
    after which each `role` costs a few dictionary look-ups."""
    return Reach(_rules(configuration), held)


class Reach:
    """The scopes a run reaches, as patterns with a role each."""

    def __init__(self, rules: "_Rules", held: frozenset[str]) -> None:
        self._rules = rules
        strongest: dict[Pattern, Role] = {}
        for reached, role in rules.apply(held):
            strongest[reached] = max(role, strongest.get(reached, role))
        self._reached: PatternIndex[Role] = PatternIndex(strongest.items())
        self.role = lru_cache(maxsize=_ADDRESSES_CACHED_MAX)(self._role)

    def _role(self, address: str) -> Role | None:
        """The strongest role on the scope, None without one."""
        role = self._own_role(address)
        base, _, child = address.partition("/")
        if child and self._rules.inherits(base, child):
            inherited = self._own_role(base)
            if role is None or (inherited is not None and inherited > role):
                return inherited
        return role

    def _own_role(self, address: str) -> Role | None:
        return max((role for _, role in self._reached.find(address)), default=None)


class _Rules:
    """The rules of one configuration, filed by principal."""

    def __init__(self, configuration: Configuration) -> None:
        self._scopes: PatternIndex[ScopeDeclaration] = PatternIndex(
            (scope.pattern, scope) for scope in configuration.scopes
        )
        self._by_principal: PatternIndex[tuple[Pattern, Role]] = PatternIndex(
            _with_principal(configuration.scopes)
        )

    def apply(self, held: frozenset[str]) -> Iterator[tuple[Pattern, Role]]:
        """Each pattern of scopes that a rule reaches from a held scope, with the rule's role."""
        for scope in held:
            # No address has a "$"; text that has one would be put into patterns as a parameter.
            if "$" in scope:
                continue
            for principal, (reached, role) in self._by_principal.find(scope):
                yield reached.substitute(principal.match(scope) or {}), role
            segments, child = split_address(scope)
            for role in self._roles_of_self(scope, child):
                yield Pattern(segments, child), role

    def inherits(self, base: str, child: str) -> bool:
        """Whether the rules of `base` count for its child scope; False if it is not declared."""
        for _, scope in reversed(self._scopes.find(base)):
            for declared in scope.children:
                if declared.name == child:
                    return declared.access is None
        return False

    def _roles_of_self(self, held: str, child: str) -> Iterator[Role]:
        base = held.partition("/")[0]
        inherits = bool(child) and self.inherits(base, child)
        for _, scope in self._scopes.find(base):
            if not child or inherits:
                yield from _self_roles(scope.access)
            for declared in scope.children:
                if child and declared.name == child:
                    yield from _self_roles(declared.access or ())


@lru_cache(maxsize=_CONFIGURATIONS_CACHED_MAX)
def _rules(configuration: Configuration) -> _Rules:
    return _Rules(configuration)


def _with_principal(
    scopes: Iterable[ScopeDeclaration],
) -> Iterator[tuple[Pattern, tuple[Pattern, Role]]]:
    for scope in scopes:
        for rule in scope.access:
            if rule.principal is not None:
                yield rule.principal, (scope.pattern, rule.role)
        for child in scope.children:
            reached = Pattern(scope.pattern.segments, child.name)
            for rule in child.access or ():
                if rule.principal is not None:
                    yield rule.principal, (reached, rule.role)


def _self_roles(rules: tuple[AccessRule, ...]) -> Iterator[Role]:
    return (rule.role for rule in rules if rule.principal is None)
