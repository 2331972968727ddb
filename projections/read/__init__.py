"""The queries: plain functions of a snapshot that answer with views.

Every one of them shows only what the snapshot's caller may read; missing and hidden give the
same error. `rows` reads pages, `standing` says where they stand and `declared` which of them
are only declared; the other modules answer one question of the doors each. Functions that
list take the last item's key (`after`) and a `limit` and give a `Slice`.
"""
