"""Runs programs many times: comparisons, sweeps, investigations, proofs of fixes.

`command` parses the user's command, `launch` starts one run in a separate process, `order` decides
the order of runs, `here` and `cluster` where they run. `paired` is the loop of a comparison,
`sweeping` of a sweep, `investigating` of an investigation with its `plan`. Runs leave captures;
`analyze` gives the verdict. `prover` tries the fixes of findings, `patches` writes them into the
user's source. Results are plain data (`analyze.comparing.experiments`) that `stored` keeps; nothing
is rendered here. Uses `run`, `analyze`, `diagnose` and `capture`, never `report`.
"""
