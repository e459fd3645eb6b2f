"""What a run leaves on disk: the only thing that the recording and the reading half share.

`schema` declares every counter, gauge, note and header field; `records` and `values` decode them
once, into typed objects. A capture is a folder with one shard per process; a shard is lines of
JSON, each readable alone. `window` is the change over about a second, `lines` its form on disk,
`writer` and `reader` the two ends, `growing` a shard as its lines arrive. `slices` are single
calls, in files of their own. Nothing here measures or judges; it imports no other room.
"""
