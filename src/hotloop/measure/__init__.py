"""Runs inside the training process and must cost next to nothing.

`core` is the region clock (native, or its Python `twin`), `profiler` what programs use, `recorder`
closes a window a second and hands it to the capture, `session` ties these to one process and
`program` runs the user's program as Python would. It may import `capture` and `words`, nothing
heavy, and it knows nothing of analyses, findings or reports.
"""
