"""Formats reports and results of experiments, for people and for programs.

`document` builds the report, once; every other file formats it and computes nothing. `formats`
lists the formats by a file's ending, `output` writes the file, `after_run` prints the report of a
finished run.

| folder | contents |
|---|---|
| `words/` | parts of a report in words, for every renderer |
| `console/` | the report on a terminal, and the view of a run in progress |
| `html/` | the page, and the live page of a run in progress |
| `export/` | files for other tools: Perfetto, speedscope, pstats, collapsed stacks, CSV |
| `results/` | results of experiments: comparisons, sweeps, investigations, proofs |

`markdown`, `detailed` and `pictures` are one format each; pages and pictures share `palette` and
`figures`. May use `analyze` and `diagnose`, and reads captures only through them or to export them.
Knows nothing about `run`, `measure`, `hooks` or how experiments are run.
"""
