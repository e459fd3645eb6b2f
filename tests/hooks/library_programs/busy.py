"""Work of a known length, whatever else the machine does."""

import atexit
import json
import time

#: Place -> seconds that it was really kept busy: a machine that does other work adds to them.
spent = {}


def busy(seconds, place):
    """Compute for so long in a place; what it came to is printed at the end."""
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds:
        pass
    spent[place] = spent.get(place, 0.0) + time.perf_counter() - begin


atexit.register(lambda: print(json.dumps(spent)))
