"""The collector's settings, callbacks and counts stay the program's."""

import gc

print(
    gc.get_threshold(),
    gc.isenabled(),
    len(gc.callbacks),
    gc.get_freeze_count(),
    gc.get_debug(),
    gc.garbage,
)
seen = []
gc.callbacks.append(lambda phase, info: seen.append((phase, info["generation"])))
gc.collect()
gc.collect(0)
print(seen)
gc.disable()


class Node:
    pass


for _ in range(1000):
    one = Node()
    one.me = one
print(gc.collect() >= 1000)
