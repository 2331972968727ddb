"""How much one read shows."""

from projections.snapshot import Snapshot


def read_cap(snapshot: Snapshot) -> int:
    """The tokens of a body that one read shows, as the knowledge base is configured today."""
    return snapshot.configuration_now.settings.read_tokens
