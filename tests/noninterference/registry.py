"""What is asked of each route and each tool. One without probes fails a test.

A tool is asked by its name, so that a new one only needs an entry of its own in a module of
probes: whatever routes it has, the harness takes them from the operations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from api.operations import Operation
from tests.noninterference.asking import Ask
from tests.noninterference.sight import Sight

Probe = Callable[[Sight], Iterator[Ask]]

ROUTES: dict[str, Probe] = {}
"""By the name of the operation; one probe may be of several."""
TOOLS: dict[str, Probe] = {}
"""By the name of the tool."""
_ORDER: list[Probe] = []


def probes(*operations: str) -> Callable[[Probe], Probe]:
    """Enters the probe for routes."""
    return _enter(ROUTES, operations)


def tool_probes(*tools: str) -> Callable[[Probe], Probe]:
    """Enters the probe for tools."""
    return _enter(TOOLS, tools)


def _enter(registry: dict[str, Probe], names: Iterable[str]) -> Callable[[Probe], Probe]:
    def enter(probe: Probe) -> Probe:
        for name in names:
            assert name not in registry, f"{name} has two probes"
            registry[name] = probe
        _ORDER.append(probe)
        return probe

    return enter


def without_probe(operations: Iterable[Operation]) -> set[str]:
    """The operations that nothing is asked of."""
    return {each.name for each in operations if each.name not in _registry_of(each)}


def _registry_of(operation: Operation) -> Mapping[str, Probe]:
    return TOOLS if operation.is_tool else ROUTES


def asks(sight: Sight) -> Iterator[Ask]:
    """Everything that is asked, in the order of entry: what writes is entered last, as it
    changes what there is."""
    for probe in _ORDER:
        yield from probe(sight)
