"""The pages of one comparison, one sweep and one investigation."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiment_pages import ENVS


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("scipy")
    from made_experiments import comparison, investigation, result, sweep, written

    from hotloop.report.results.comparison_page import render_comparison
    from hotloop.report.results.investigation_page import render_investigation
    from hotloop.report.results.sweep_page import render_sweep

    folder = tmp_path_factory.mktemp("pages")
    made = comparison()
    contents = {
        "compare": render_comparison(made, result(made)),
        "sweep": render_sweep(sweep(ENVS)),
        "investigate": render_investigation(investigation()),
    }
    return {name: written(folder, name, page) for name, page in contents.items()}
