"""TensorBoard, tensorboardX and Weights & Biases are `log`, and work as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[1] / "own_programs" / "loggers.py"


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("kind", "module"),
    [("torch", "torch.utils.tensorboard"), ("x", "tensorboardX"), ("wandb", "wandb")],
)
def test_logging_is_a_phase(profile: Any, kind: str, module: str) -> None:
    pytest.importorskip(module)
    run = profile(PROGRAM, kind)
    assert run.calls("log") >= 300
    assert run.seconds("log") > run.seconds("env.step")
    assert all(not facts["missing"] for facts in run.report["libraries"].values())


STAND_IN = """
import time
class Run:
    def log(self, data, step=None):
        end = time.perf_counter() + 0.001
        while time.perf_counter() < end: pass
    def finish(self): ...
"""


@pytest.mark.real_time
def test_wandb_by_its_run(profile: Any, tmp_path: Path) -> None:
    """Without the package itself: `wandb.log` is the method of the run that `init` made."""
    sdk = tmp_path / "wandb" / "sdk"
    sdk.mkdir(parents=True)
    (sdk / "__init__.py").touch()
    (sdk / "wandb_run.py").write_text(STAND_IN)
    (tmp_path / "wandb" / "__init__.py").write_text(
        "from .sdk.wandb_run import Run\n"
        "def init(**_):\n    global log\n    run = Run()\n    log = run.log\n    return run\n"
    )
    run = profile(PROGRAM.read_text(), "wandb")  # beside the package, where Python looks first
    assert run.calls("log") >= 300
    assert run.seconds("log") >= 0.3
