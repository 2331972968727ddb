"""The event store: tables, statements, the writer and what goes into one transaction.

Nothing here knows a rule of the domain. A command arrives as a function of the open
transaction, and what it decides is written as one commit with its events, texts and
projection rows.
"""
