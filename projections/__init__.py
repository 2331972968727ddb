"""The read side: what replaying the events builds, and the queries over it.

Imports run one way: `api` may import from here, and this package imports `kbstore` alone.
"""
