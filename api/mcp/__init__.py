"""MCP: every tool over Streamable HTTP, in two protocol revisions at one address.

The official SDK speaks the protocol; this package decides who may speak it, hands each call to
the tool that HTTP calls too, and closes what the SDK leaves open. Only `api.app` imports it.
"""
