"""Regions with any name work, and do not change what is inside."""

import hotloop

for name in ("", " ", "a/b", "\n", "\x00", "é", "x" * 5000, "\ud800"):
    with hotloop.profile(name):
        pass
print("done")
