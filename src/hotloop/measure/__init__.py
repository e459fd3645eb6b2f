"""Runs inside the training process and must cost next to nothing.

`core` is the region clock (native, or its Python `twin`), `profiler` what programs use: it closes
windows, which `run` writes. `calibrate` measures the cost of a region, `stretches` plans what is
measured in full, `memory`, `machine` and `cards` read the system, `device_watch` and `activity`
record a GPU, `trace` keeps single calls. It may import `capture`, `histogram` and `phases`, nothing
heavy, and it knows nothing about hooks, analyses, findings or reports.
"""
