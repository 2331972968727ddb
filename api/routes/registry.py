"""Every route there is."""

from api.operations import Operation
from api.routes import pages

OPERATIONS: tuple[Operation, ...] = (*pages.OPERATIONS,)
