"""The resources of a knowledge base over HTTP, one module each.

A module makes its `OPERATIONS`; `api.app` mounts all of them, `api.openapi` describes them,
and `docs/reference/http.md` lists them. Nothing else is imported from here.
"""
