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


def test_a_critic_that_judges_the_same_state_needs_no_gradients_either(tmp_path: Path) -> None:
    source = """
        import torch

        def choose(self, state):
            dist = self.actor(state)
            value = self.critic(state)  # for the advantage
            action = dist.sample()
            return action.item(), value.item()
    """
    after = patched(tmp_path, "missing-no-grad", source, "self.actor")
    assert (
        "    with torch.no_grad():\n"
        "        dist = self.actor(state)\n"
        "        value = self.critic(state)  # for the advantage\n"
        "    action = dist.sample()\n"
    ) in after
    # What its caller learns from keeps its gradients.
    after = patched(tmp_path, "missing-no-grad", source.replace("value.item()", "value"), "actor(s")
    assert "        dist = self.actor(state)\n    value = self.critic(state)" in after
    # Blank lines stay empty.
    after = patched(
        tmp_path,
        "missing-no-grad",
        source.replace("    value =", "\n            value ="),
        "self.actor",
    )
    assert "        dist = self.actor(state)\n\n        value = self.critic(state)" in after


def test_a_call_that_learns_from_the_same_state_keeps_its_gradients(tmp_path: Path) -> None:
    source = """
        import torch

        class Agent:
            def round(self, state):
                values = self.network(state)
                error = self.replay(state)
                return values.argmax().item(), float(error)

            def replay(self, state):
                loss = self.network(state).pow(2).mean()
                loss.backward()
                self.optimizer.step()
                return loss.item()
    """
    after = patched(tmp_path, "missing-no-grad", source, "self.network")
    assert (
        "        with torch.no_grad():\n"
        "            values = self.network(state)\n"
        "        error = self.replay(state)\n"
    ) in after


@pytest.mark.parametrize(
    ("id", "line", "expected"),
    [
        ("list-to-tensor", "x = torch.tensor(list(rows))", "x = torch.tensor(np.asarray(list(rows)))"),
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


@pytest.mark.parametrize(
    "body",
    [
        "q: torch.Tensor = net(obs)\n    return int(q.argmax())",
        "return random.randrange(2) if random.random() < 0.1 else int(net(obs).argmax())",
        "acts = [int(net(o).argmax()) for o in obs]\n    return acts",
    ],
)
def test_statements_of_other_kinds_act_without_gradients(tmp_path: Path, body: str) -> None:
    source = f"import random\nimport torch\n\ndef act(net, obs):\n    {body}\n"
    after = patched(tmp_path, "missing-no-grad", source, "net(o")
    assert after is not None
    first = body.split("\n")[0]
    assert f"    with torch.no_grad():\n        {first}\n" in after


def test_a_function_that_only_acts_is_decorated(tmp_path: Path) -> None:
    source = """
        from torch import nn

        class Agent:
            def act(self, obs): return int(self.net(obs).argmax())

        def act(net, obs):
            if (q := net(obs)).max() > 0:
                return int(q.argmax())
            return 0

        def loss(net, obs):
            if (q := net(obs)).max() > 0:
                return q.mean()
    """
    after = patched(tmp_path, "missing-no-grad", source, "self.net(")
    assert after is not None
    assert after.startswith("import torch\n")
    assert "    @torch.no_grad()\n    def act(self" in after
    only = source[: source.index("def loss")]
    after = patched(tmp_path, "missing-no-grad", only, "if (q := net(")
    assert after is not None
    assert "@torch.no_grad()\ndef act(net" in after
    after = patched(
        tmp_path, "missing-no-grad", source[source.index("def loss") :], "if (q := net("
    )
    assert after is None


def test_a_lambda_is_not_what_acts(tmp_path: Path) -> None:
    source = "import torch\nact = lambda obs: net(obs).argmax().item()\n"
    assert patched(tmp_path, "missing-no-grad", source, "lambda") is None


@pytest.mark.parametrize(
    ("id", "line", "expected"),
    [
        ("deepcopy-in-step", "s = dc(state)", "s = copy.copy(state)"),
        ("list-to-tensor", "x = torch.tensor(data=rows)", "x = torch.tensor(data=np.asarray(rows))"),
        ("list-to-tensor", "x = tensor(list(map(f, y)))", "x = tensor(np.asarray(list(map(f, y))))"),
        ("predict-in-loop", "q = m.predict(s, 32, 0)", "q = np.asarray(m(s, training=False))"),
        ("predict-in-loop", "q = m.predict(x=s, batch_size=1)", "q = np.asarray(m(s, training=False))"),
    ],
)  # fmt: skip
def test_other_ways_to_write_a_call(tmp_path: Path, id: str, line: str, expected: str) -> None:
    head = "import copy\nfrom copy import deepcopy as dc\nimport numpy as np\nimport torch\n"
    after = patched(tmp_path, id, f"{head}from torch import tensor\n{line}\n", line)
    assert after == f"{head}from torch import tensor\n{expected}\n"


@pytest.mark.parametrize(
    "body",
    [
        "self.value, self.logits = self.net(obs)\n    return int(self.logits.argmax())",
        "self.values[0] = self.net(obs)\n    return 0",
        "self.net(obs).mean().backward()",
        "self.saved.append(self.net(obs))\n    return 0",
        "m = Categorical(self.net(obs))\n    a = m.sample()\n"
        "    self.saved.append(m.log_prob(a))\n    return a.item()",
        "v = self.net(obs)\n    self.value = v\n    return 0",
        "v = self.net(obs)\n    kept['v'] = v\n    kept['v'].mean().backward()",
        "if (q := self.net(obs)).max() > 0:\n        self.saved.append(q)\n    return 0",
        "if self.net(obs).max() > 0:\n        self.v = self.critic(obs)\n    return 0",
    ],
)
def test_what_is_kept_for_later_keeps_its_gradients(tmp_path: Path, body: str) -> None:
    source = f"import torch\n\ndef act(self, obs):\n    {body}\n"
    assert patched(tmp_path, "missing-no-grad", source, "self.net(") is None


def test_an_action_that_is_kept_needs_no_gradients(tmp_path: Path) -> None:
    source = (
        "import torch\n\ndef act(self, obs):\n    q = self.net(obs)\n"
        "    self.action = q.argmax().item()\n    self.memory.push(obs, self.action)\n"
    )
    after = patched(tmp_path, "missing-no-grad", source, "self.net(")
    assert after is not None
    assert "    with torch.no_grad():\n        q = self.net(obs)\n" in after


@pytest.mark.parametrize(
    ("does", "fits"),
    [
        ("env.step(0)", True),
        ("self.envs.step(0)", True),
        ("agent.update()", False),
        ("agent.train_step(batch)", False),
        ("self._learn()", False),
        ("optimizer.step()", False),
    ],
)
def test_a_function_that_calls_the_learner_is_not_decorated(
    tmp_path: Path, does: str, fits: bool
) -> None:
    source = f"import torch\n\ndef run(self):\n    if net(obs).max() > 0:\n        {does}\n"
    after = patched(tmp_path, "missing-no-grad", source, "net(obs)")
    assert (after is not None) == fits
    assert after is None or "@torch.no_grad()\ndef run" in after


def test_apply_of_other_kinds_is_left_alone(tmp_path: Path) -> None:
    lines = "apply(lambda part: part.mean()); x.rolling(3).apply(lambda: part.mean())"
    source = f"def load(x, part):\n    return {lines.split('; ')[0]}\n"
    assert patched(tmp_path, "data-loading", source, "apply") is None
    source = f"def load(x, part):\n    return {lines.split('; ')[1]}\n"
    assert patched(tmp_path, "data-loading", source, "apply") is None


def test_an_action_with_noise_needs_no_gradients(tmp_path: Path) -> None:
    line = "a = np.clip(actor(obs).detach().numpy() + rng.normal(0, 0.1, 2), -1, 1)"
    source = (
        f"import numpy as np\nimport torch\n\ndef act(obs):\n    {line}\n    memory.append(a)\n"
    )
    after = patched(tmp_path, "missing-no-grad", source, line)
    assert after is not None
    assert f"    with torch.no_grad():\n        {line}\n" in after
