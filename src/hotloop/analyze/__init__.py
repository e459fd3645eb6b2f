"""Pure functions from a capture to breakdowns, trends and statistics.

`analysis` puts the parts together: `timeline` tells start-up, loop and the rest apart, `tree` adds
the windows up and takes hotloop's own cost out, `functions` reads the samples, `score` weighs. No
file is read here and nothing is printed; `diagnose` and `report` take what comes out.

`flame` is the tree of phases and functions, `stacks` the same flat; `course` is the run as it went,
`now` its last seconds, `rows` its windows as a table, `tracks` its single calls.
"""
