"""Which program projects: rows that two of them made need not fit together."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from kbstore import domain, text
from kbstore.store.database import SCHEMA_VERSION

# By path, because a package cannot import itself.
_FOLDERS = (Path(__file__).parent, Path(domain.__file__).parent, Path(text.__file__).parent)
"""What rows follow from, besides the log: the projections, the events, the text analysis."""


@cache
def program() -> str:
    """A hash over the schema's version and the source of all that makes rows from events.

    Unequal where the rows might be; also where only a comment changed, which costs no more
    than work done twice.
    """
    found = sha256(f"schema {SCHEMA_VERSION}".encode())
    for folder in _FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            found.update(path.relative_to(folder).as_posix().encode())
            found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()
