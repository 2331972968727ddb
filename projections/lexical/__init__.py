"""The lexical index: exact substring search over all pages and notes, at any revision.

`changes` says how the row of an event holds what it changed of the terms; `documents`,
`vocabulary`, `segments` and `tail` are the parts of an index in memory, `index` follows the
rows, `kept` holds the indexes of this process, and `evaluating` answers a query over one of
them. `checkpoints` are stretches of an index in the database, which it begins with: `stored` says
how they lie in bytes, `checkpointing` makes them. `projections.read.search` is the door; nothing
here knows of tools. `docs/internals/search.md` tells why it is built so.
"""
