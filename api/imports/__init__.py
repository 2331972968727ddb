"""Import: an operation log or a folder of Markdown files becomes commits.

`oplog` and `folder` read and check what is given, `planner` folds it into the operations one
commit needs, on `tree`, a mirror of the scope's pages. Nothing here opens the store: the
command line reads the tree, asks for a plan, writes it and applies it to the mirror. May import
`kbstore` for its errors, limits and rules.
"""
