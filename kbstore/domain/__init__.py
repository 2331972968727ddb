"""The rules of the store: `decide(command, context) -> Decision`, `evolve(state, event) -> state`.

Everything here is pure. What a rule needs to know of the state it asks through the `Lookup`
protocol; `kbstore.testing` answers it from memory, `projections` from the open transaction.
"""
