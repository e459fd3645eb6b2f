"""What a run leaves on disk: the only thing that the measuring and the reporting half share.

A capture is a folder with one shard a process; a shard is lines of JSON that each stand alone.
`window` is the change over about a second, `lines` how it and the rest are written, `writer` and
`reader` the two ends; `growing` is a shard as its lines arrive. `slices` are single calls, in files
of their own. Nothing here measures, and nothing here judges.
"""
