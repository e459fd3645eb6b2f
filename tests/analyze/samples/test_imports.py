"""Import time goes to the program's statement, and in it to packages."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, sample

from hotloop.analyze.samples.imports import import_lines

PANDAS = frame("<module>", "/lib/site-packages/pandas/core.py")
NUMPY = frame("<module>", "/lib/site-packages/numpy/core.py")


def test_statements_by_their_time_with_the_packages_inside(make: Make) -> None:
    analysis = make(startup=[phase("import", 8.0)])
    first, second = frame("<module>", line=1), frame("<module>", line=2)
    analysis.startup_samples = [
        sample("import", 2.0, PANDAS, first),
        sample("import", 1.0, NUMPY, PANDAS, first),
        sample("import", 1.0, second),
        sample("startup", 9.0, second),  # no import
    ]
    one, other = import_lines(analysis)
    assert (one.line, one.seconds, one.share) == (1, 6.0, 0.75)
    assert one.packages == (("pandas", 4.0), ("numpy", 2.0))
    assert (other.line, other.seconds, other.packages) == (2, 2.0, ())


@pytest.mark.parametrize(("seconds", "sampled"), [(1.0, True), (8.0, False)])
def test_little_time_or_no_sample_gives_no_line(make: Make, seconds: float, sampled: bool) -> None:
    analysis = make(startup=[phase("import", seconds)])
    analysis.startup_samples = [sample("import", 1.0, frame("<module>"))] if sampled else []
    assert import_lines(analysis) == []
