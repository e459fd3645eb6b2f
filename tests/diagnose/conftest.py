"""What the tests of rules share."""

from __future__ import annotations

import pytest
from analyses import Make, make_analysis


@pytest.fixture
def make() -> Make:
    """Makes an analysis by hand."""
    return make_analysis
