"""Webhooks: events sent to whoever asked for them, beside all that answers requests.

`worker` keeps one `courier` for each webhook. A courier reads the next events that the webhook
may see (`messages`), sends them one after the other (`sending`, over `network`) and keeps how
far it came (`keeping`). Nothing here runs in a write's transaction, and nothing waits for a
receiver but its own courier. Routes use `addresses`, `signing` and `worker`.
"""
