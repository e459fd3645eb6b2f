"""Runs programs many times: comparisons, sweeps, investigations, proofs of fixes.

`command` parses the user's command, `launch` makes one run in a separate process, `order`
decides which runs first, `here` and `cluster` where. `paired` is the loop of a comparison,
`sweeping` that of a sweep, `plan` and `investigating` those of an investigation. Runs leave
captures; `analyze` gives the verdict. `prover` tries the fixes of findings, `patches` writes them
into the user's source. Results are plain data (`analyze.comparing.experiments`) that `stored`
keeps; nothing is rendered here. Uses `run`, `analyze`, `diagnose` and `capture`, never `report`.
"""
