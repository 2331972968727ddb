"""The doors: HTTP, the command line, imports and the demo.

Everything that talks to the outside lives here and nothing else imports it. `api.wiring`
joins the write side (`kbstore`) with the read side (`projections`) once.
"""
