"""The write side of the knowledge store.

Domain rules, access rules, text analysis and the event store live here. Nothing in this
package knows of HTTP or of the tables that projections keep: what deciding needs to know of
the state is a protocol (`kbstore.domain.lookup`) that `projections` implements.
"""
