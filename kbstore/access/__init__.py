"""Scopes, roles and access: who may do what, decided without a database.

A knowledge base's configuration is text; `load_configuration` checks all of it and gives a
frozen `Configuration`. `declaration_of` answers what a scope is declared as, `role_of` which
role a run has there, and an `Access`, made once per request from the configuration, the
`Caller` and the known scopes, answers every later question from memory. Nothing here reads a
clock, a file or a table. Other packages import from here, not from the modules below.
"""

from kbstore.access.addresses import (
    Pattern,
    child_address,
    is_address,
    parent_address,
    parse_address,
)
from kbstore.access.caller import GRANTS, OPERATOR, Access, Caller, parse_principal
from kbstore.access.configuration import (
    AccessRule,
    ChildDeclaration,
    Configuration,
    PageDeclaration,
    PinDeclaration,
    Role,
    ScopeDeclaration,
    Settings,
    declare_scope,
    dump_configuration,
)
from kbstore.access.declarations import (
    ResolvedScope,
    declaration_of,
    declared_concrete_addresses,
    is_declared,
)
from kbstore.access.loading import load_configuration
from kbstore.access.roles import role_of
from kbstore.access.templates import TemplatePage, TemplateTree

__all__ = [
    "GRANTS",
    "OPERATOR",
    "Access",
    "AccessRule",
    "Caller",
    "ChildDeclaration",
    "Configuration",
    "PageDeclaration",
    "Pattern",
    "PinDeclaration",
    "ResolvedScope",
    "Role",
    "ScopeDeclaration",
    "Settings",
    "TemplatePage",
    "TemplateTree",
    "child_address",
    "declaration_of",
    "declare_scope",
    "declared_concrete_addresses",
    "dump_configuration",
    "is_address",
    "is_declared",
    "load_configuration",
    "parent_address",
    "parse_address",
    "parse_principal",
    "role_of",
]
