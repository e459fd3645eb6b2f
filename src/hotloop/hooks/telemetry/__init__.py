"""Records facts that rules need besides times: threads, batch sizes, transfers, graphs, and so on.

The context creates `collect.Telemetry`; one file per library adds to it once the library is
imported. Values are counters, gauges and notes declared in `capture/schema.py`. May use the
context, `wrapping`, `redirect`, `inference`, `program.files` and `measure`. Judging is left to
`diagnose`.
"""
