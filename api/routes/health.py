"""Health: what anybody may ask."""

from api.answers import NO_STORE, Answer, json_answer
from api.calls import Server
from api.operations import opens
from api.representations import Health
from kbstore.store.catalogue import find_knowledge_base


@opens("readLiveness", "/health/live", "Whether the process runs", answer=Health)
async def read_liveness(server: Server) -> Answer:
    return json_answer(200, Health(status="live"), (NO_STORE,))


@opens("readReadiness", "/health/ready", "Whether requests can be answered", answer=Health)
async def read_readiness(server: Server) -> Answer:
    """Reads the catalogue: a database that is there answers that at once."""
    await server.reads.run(lambda connection: find_knowledge_base(connection, "any"))
    return json_answer(200, Health(status="ready"), (NO_STORE,))


OPERATIONS = (read_liveness, read_readiness)
