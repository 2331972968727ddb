"""Tools: what agents call, by whichever door.

A tool is a name, a description written for a model, the Structs it takes and answers with,
annotations and a handler (`tool`). `registry` lists them all; HTTP (`api.routes.tools`) and MCP
(`api.mcp`) adapt that list, so their answers cannot differ.
"""
