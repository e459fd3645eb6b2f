"""Many runs of `hotloop run`, side by side: comparisons, sweeps, investigations.

`command` is what a user wrote, `launch` one run of it in a process of its own, `order` who goes
first, `here` and `cluster` where runs take place, `paired` the loop of a comparison, `sweeping`
that of a sweep, `plan` and `investigating` those of an investigation. Runs leave captures;
`analyze` gives the verdict. Nothing here knows how a run is measured, and nothing here renders.
"""
