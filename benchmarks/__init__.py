"""Benchmarks: runnable modules, each printing one JSON line for each size of store.

`python -m benchmarks.bench_append --pages 10000`. Every figure is a ratio to a baseline that
the same run measured in turns with it, so that a loaded machine slows both sides alike.
`docs/internals/performance.md` keeps the figures beside their targets. Imports everything,
is imported by nothing.
"""
