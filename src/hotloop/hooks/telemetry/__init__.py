"""What rules need besides times: threads, batch sizes, transfers, graphs, growing containers.

`collect.Telemetry` is made by the context; a file per library adds to it once that is imported.
Values are counters, gauges and notes that `capture/schema.py` declares. May use the context,
`wrapping`, `redirect`, `inference`, `program.files` and `measure`; judges nothing, which is
`diagnose`'s work.
"""
