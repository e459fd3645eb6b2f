"""300,000 region names neither fail nor fill the memory."""

# full: 300,000 regions take seconds
import resource

import hotloop

for number in range(1000):
    with hotloop.profile(f"region {number}"):
        pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for number in range(300_000):
    with hotloop.profile(f"name {number}"):
        pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000)
