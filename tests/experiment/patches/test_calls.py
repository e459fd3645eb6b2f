"""Patches of single calls: the shape that each is for, and shapes that it leaves alone."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from patched_programs import patched


def test_acting_without_gradients_keeps_comments(tmp_path: Path) -> None:
    source = """
        import torch

        def act(net, obs):
            # greedy
            value = net(
                obs,  # a batch
            ).argmax(1)
            return value
    """
    after = patched(tmp_path, "missing-no-grad", source, "obs,  #")
    assert (
        after
        == textwrap.dedent(
            """
        import torch

        def act(net, obs):
            # greedy
            with torch.no_grad():
                value = net(
                    obs,  # a batch
                ).argmax(1)
            return value
        """
        ).lstrip()
    )


@pytest.mark.parametrize(
    ("id", "line", "expected"),
    [
        ("list-to-tensor", "x = torch.tensor(list(rows))", "x = torch.tensor(np.asarray(rows))"),
        ("list-to-tensor", "x = torch.FloatTensor(rows)", "x = torch.FloatTensor(np.asarray(rows))"),
        ("predict-in-loop", "q = m.predict(s, verbose=0)", "q = np.asarray(m(s, training=False))"),
        ("deepcopy-in-step", "s = copy.deepcopy(state)", "s = copy.copy(state)"),
        ("image-resize", "i = im.resize(z, Image.LANCZOS)", "i = im.resize(z, Image.BOX)"),
    ],
)  # fmt: skip
def test_one_call(tmp_path: Path, id: str, line: str, expected: str) -> None:
    head = "import copy\nimport numpy as np\nimport torch\n\ndef f(self):\n"
    assert patched(tmp_path, id, f"{head}    {line}\n", line) == f"{head}    {expected}\n"


def test_a_missing_import_is_added(tmp_path: Path) -> None:
    after = patched(tmp_path, "list-to-tensor", "import torch\nx = torch.tensor(rows)\n", "x =")
    assert after == "import numpy as np\nimport torch\nx = torch.tensor(np.asarray(rows))\n"


def test_a_value_that_is_carried_is_detached(tmp_path: Path) -> None:
    source = """
        def train():
            for _ in range(9):
                mean = 0.9 * mean + 0.1 * reward
                losses.append(loss)
                loss.backward()
    """
    after = patched(tmp_path, "graph-retained", source, "backward")
    assert after is not None
    assert "mean = 0.9 * mean.detach() + 0.1 * reward" in after
    assert "losses.append(loss.detach())" in after


def test_a_loss_keeps_its_gradients(tmp_path: Path) -> None:
    """A line of learning that was mistaken for acting is left alone."""
    source = """
        import torch

        out = net(x)
        loss = out.mean()
        loss.backward()
    """
    assert patched(tmp_path, "missing-no-grad", source, "net(x)") is None
