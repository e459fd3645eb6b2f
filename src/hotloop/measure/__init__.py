"""Runs inside the training process and must cost next to nothing.

`core` is the region clock (native, or its Python `twin`). `profiler` is the interface for programs;
it closes windows, which `run` writes. `calibrate` measures the cost of a region, `stretches` plans
which calls are measured, `memory`, `machine` and `cards` read the system, `device_watch` and
`activity` record a GPU, and `trace` keeps single calls. May import `capture`, `histogram` and
`phases`, and nothing heavy; knows nothing about hooks, analyses, findings or reports.
"""
