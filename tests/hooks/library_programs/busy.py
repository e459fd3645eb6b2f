"""Work of a known length, whatever else the machine does."""

import time


def busy(seconds):
    """Compute for so long."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
