"""Runs programs many times: comparisons, sweeps, investigations.

`command` parses what the user wrote, `launch` makes one run in a process of its own, `order`
decides which runs first, `here` and `cluster` where. `paired` is the loop of a comparison,
`sweeping` that of a sweep, `plan` and `investigating` those of an investigation. Runs leave
captures; `analyze` gives the verdict. Results are plain data (`analyze.experiments`) that `stored`
keeps; nothing is rendered here.
"""
