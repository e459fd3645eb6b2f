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


@pytest.mark.parametrize(
    ("id", "line", "expected"),
    [
        # Another list on the line may be one of floats, which must stay float32.
        (
            "list-to-tensor",
            "x, r = torch.tensor(rows, dtype=torch.float), torch.tensor(rewards)",
            "x, r = torch.tensor(np.asarray(rows), dtype=torch.float), torch.tensor(rewards)",
        ),
        ("list-to-tensor", "x, r = torch.tensor(rows), torch.tensor(rewards)", None),
        (
            "predict-in-loop",
            "q = m.predict(s); n = m.predict(t)",
            "q = np.asarray(m(s, training=False)); n = np.asarray(m(t, training=False))",
        ),
    ],
)
def test_several_calls_on_a_line(tmp_path: Path, id: str, line: str, expected: str | None) -> None:
    head = "import numpy as np\nimport torch\n\ndef f(self):\n"
    after = patched(tmp_path, id, f"{head}    {line}\n", line)
    assert after == (expected and f"{head}    {expected}\n")


def test_lines_of_a_statement_that_goes_on_are_their_own(tmp_path: Path) -> None:
    source = """
        import numpy as np
        import torch

        def sample():
            return torch.tensor(rows, dtype=torch.float), torch.tensor(actions), \\
                torch.tensor(rewards), torch.tensor(later, dtype=torch.float)
    """
    after = patched(tmp_path, "list-to-tensor", source, "later")
    assert after is not None
    assert "torch.tensor(np.asarray(later), dtype=torch.float)" in after
    assert "torch.tensor(rows, dtype=torch.float)" in after


def test_acting_in_a_file_with_tabs(tmp_path: Path) -> None:
    source = (
        "import torch\n\n"
        "def act(net, obs):\n\tout = net(obs)\n\treturn out.argmax()\n\n"
        "def update(net, obs):\n\tout = net(obs)\n\tout.sum().backward()\n"
    )
    after = patched(tmp_path, "missing-no-grad", source, "out = net")
    assert after == source.replace(
        "\tout = net(obs)\n", "\twith torch.no_grad():\n\t\tout = net(obs)\n", 1
    )


@pytest.mark.parametrize("line", ["q = net(x); a = q.argmax()", "if greedy: a = net(x).argmax()"])
def test_statements_that_share_a_line_stay(tmp_path: Path, line: str) -> None:
    source = f"import torch\n\ndef act(net, x, greedy):\n    {line}\n    return a\n"
    assert patched(tmp_path, "missing-no-grad", source, line) is None


def test_drawn_actions_carry_no_gradients(tmp_path: Path) -> None:
    source = """
        import torch

        def train():
            probabilities = policy(state)
            action = Categorical(probabilities).sample()
            loss = value(state).gather(1, action).mean()
            loss.backward()
    """
    after = patched(tmp_path, "missing-no-grad", source, "probabilities = policy")
    assert after is not None
    assert "with torch.no_grad():\n        probabilities = policy(state)" in after


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


@pytest.mark.parametrize(
    ("before", "inside"), [("mean = 0.0", "pass"), ("pass", "mean = network(batch)")]
)
def test_what_is_a_number_or_made_anew_is_not_detached(
    tmp_path: Path, before: str, inside: str
) -> None:
    source = f"""
        def train():
            {before}
            for _ in range(9):
                {inside}
                mean = 0.9 * mean + 0.1 * loss
                mean.backward()
    """
    assert patched(tmp_path, "graph-retained", source, "backward") is None


def test_a_loss_keeps_its_gradients(tmp_path: Path) -> None:
    """A line of learning that was mistaken for acting is left alone."""
    source = """
        import torch

        out = net(x)
        loss = out.mean()
        loss.backward()
    """
    assert patched(tmp_path, "missing-no-grad", source, "net(x)") is None


@pytest.mark.parametrize(
    ("acts", "returns"),
    [
        ("logits = net(obs)", "logits"),  # the caller may learn from it
        ("q = net(obs).float()", "q"),
        ("action, log_p = policy.sample(net(obs))", "action, log_p"),
    ],
)
def test_what_a_function_returns_keeps_its_gradients(
    tmp_path: Path, acts: str, returns: str
) -> None:
    source = f"import torch\n\ndef act(net, policy, obs):\n    {acts}\n    return {returns}\n"
    assert patched(tmp_path, "missing-no-grad", source, acts) is None


def test_a_drawn_action_needs_no_gradients(tmp_path: Path) -> None:
    source = (
        "import torch\n\ndef act(net, obs):\n    a = Categorical(logits=net(obs)).sample()\n"
        "    return a.item()\n"
    )
    assert patched(tmp_path, "missing-no-grad", source, "Categorical") is not None
