"""Counts in three fields as a row holds them."""

from projections.lexical.changes import BODY_UNIT, DESCRIPTION_UNIT, NAME_UNIT


def packed(name: int, description: int, body: int) -> int:
    return name * NAME_UNIT + description * DESCRIPTION_UNIT + body * BODY_UNIT
