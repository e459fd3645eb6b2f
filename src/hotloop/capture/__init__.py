"""What a run leaves on disk: the only thing that the recording and the reading half share.

`schema` declares every counter, gauge, note and header field; `records` and `values` decode them
once, into typed objects. A capture is a folder with one shard per process, and a shard is lines of
JSON that can be read independently. `window` is the change over about a second, `lines` its form on
disk, `writer` and `reader` write and read shards, `growing` reads one as its lines arrive. `slices`
are single calls, in separate files. Nothing here measures or judges, and nothing imports another
room.
"""
