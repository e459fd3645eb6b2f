"""Imports that can be moved into functions."""

from __future__ import annotations

import pytest

from hotloop.report.words.movable import can_be_moved

LOADS = "\ndef load(path):\n    return pd.read_csv(path)\n"


@pytest.mark.parametrize(
    ("after", "movable"),
    [
        (LOADS, True),
        ("\ntable = pd.DataFrame()\n", False),
        ("\n@pd.api.extensions.register_dataframe_accessor('x')\nclass A:\n    pass\n", False),
        ("\nclass A(pd.DataFrame):\n    pass\n", False),
        ("\n@dataclass\nclass A:\n    rows: pd.DataFrame\n", False),
        ("\ndef load(path: str) -> pd.DataFrame: ...\n", False),
        ("\ndef load(index=pd.Index([])): ...\n", False),
        ("\nclass A:\n    def load(self):\n        return pd.Index([])\n", True),
    ],
)
def test_what_runs_at_import_needs_the_module(after: str, movable: bool) -> None:
    assert can_be_moved("import pandas as pd\n" + after, 1) is movable


def test_lazy_annotations_are_not_evaluated() -> None:
    source = "from __future__ import annotations\nimport pandas as pd\nx: pd.Index | None = None\n"
    assert can_be_moved(source, 2)


@pytest.mark.parametrize(
    ("source", "line"),
    [("def f():\n    import pandas\n", 2), ("from pandas import *\n", 1), ("import (\n", 1)],
)
def test_what_is_in_a_function_or_unreadable_is_not_moved(source: str, line: int) -> None:
    assert not can_be_moved(source, line)
