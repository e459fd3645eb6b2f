"""The parts of an environment step."""

from __future__ import annotations

import pytest
from analyses import STEP, Make, frame, phase, sample

from hotloop.diagnose.rules.environments import step_parts
from hotloop.diagnose.rules.environments.environment_samples import inside_steps

PACKAGES = "/venv/lib/python3.11/site-packages/"
TORCHRL = frame("EnvBase.step", PACKAGES + "torchrl/envs/common.py")
LIMIT = frame("TimeLimit.step", PACKAGES + "gymnasium/wrappers/common.py")
CARTPOLE = frame("CartPoleEnv.step", PACKAGES + "gymnasium/envs/classic_control/cartpole.py")


def test_a_step_is_split_into_simulator_wrappers_and_library(make: Make) -> None:
    tensordict = frame("TensorDict.set", PACKAGES + "tensordict/_td.py")
    samples = [
        sample("env.step", 1.0, CARTPOLE, LIMIT, TORCHRL),
        sample("env.step", 1.0, LIMIT, TORCHRL),
        sample("env.step", 6.0, tensordict, TORCHRL),
    ]
    analysis = make(phase("env.step", 8.0), samples=samples, env_steps=1000)
    parts = step_parts.step_parts(inside_steps(analysis))
    assert parts.shares() == {
        "library TorchRL": pytest.approx(0.75),
        "simulator CartPoleEnv": pytest.approx(0.125),
        "wrapper TimeLimit": pytest.approx(0.125),
    }
    (found,) = step_parts.framework_overhead(analysis)
    assert found.evidence["seconds"] == pytest.approx(6.0)


def test_a_heavy_environment_is_not_the_librarys_fault(make: Make) -> None:
    samples = [sample("env.step", 4.0, STEP, TORCHRL), sample("env.step", 4.0, TORCHRL)]
    analysis = make(phase("env.step", 8.0), samples=samples, env_steps=1000)
    assert not step_parts.framework_overhead(analysis)


def test_several_environments_per_call_share_the_overhead(make: Make) -> None:
    samples = [sample("env.step", 8.0, TORCHRL)]
    analysis = make(phase("env.step", 8.0, calls=1000), samples=samples, env_steps=4000)
    assert [f.severity for f in step_parts.framework_overhead(analysis)] == ["info"]


def test_torchrls_collector_shares_all_of_its_work(make: Make) -> None:
    """The policy and TensorDicts too: more than its part of `env.step` goes away."""
    samples = [sample("collect/env.step", 3.0, TORCHRL)]
    phases = phase("collect", 7.0, calls=10), phase("collect/env.step", 3.0, calls=1000)
    notes = {"libraries": {"TorchRL": {}}}
    one = make(*phases, samples=samples, env_steps=1000, notes=notes)
    (found,) = step_parts.framework_overhead(one)
    assert found.evidence["seconds"] == pytest.approx(7.0)
    assert found.phase == "collect"
    assert "num_envs" not in found.after  # a process for each environment
    four = make(*phases, samples=samples, env_steps=4000, notes=notes)
    assert step_parts.framework_overhead(four)[0].evidence["seconds"] == pytest.approx(3.0)


@pytest.mark.parametrize("gray_outside", [True, False])
def test_the_order_of_resizing_and_grayscale(make: Make, gray_outside: bool) -> None:
    file = PACKAGES + "gymnasium/wrappers/transform_observation.py"
    resize, gray = frame("ResizeObservation.step", file), frame("GrayscaleObservation.step", file)
    stack = (resize, gray) if gray_outside else (gray, resize)
    samples = [sample("env.step", 4.0, *stack, frame("train"))]
    analysis = make(phase("env.step", 4.0), samples=samples, env_steps=1000)
    assert bool(step_parts.preprocessing_order(analysis)) is gray_outside


def test_lines_that_resize_before_they_make_gray(make: Make) -> None:
    lines = {"10": [["cv2.resize"], 0], "11": [["cv2.cvtColor"], 0]}
    samples = [sample("env.step", 4.0, frame("Small.observation", line=10))]
    notes = {"lines": {"/home/me/train.py": lines}}
    analysis = make(phase("env.step", 4.0), samples=samples, notes=notes, env_steps=1000)
    assert step_parts.preprocessing_order(analysis)[0].where[0].line == 10


def test_wrappers_that_take_longer_than_their_environment(make: Make) -> None:
    file = PACKAGES + "gymnasium/wrappers/stateful_observation.py"
    wrapper = frame("NormalizeObservation.observation", file)
    wrapped = [sample("env.step", 5.0, wrapper, frame("train")), sample("env.step", 1.0, STEP)]
    analysis = make(phase("env.step", 6.0), samples=wrapped, env_steps=1000)
    (found,) = step_parts.framework_overhead(analysis)
    assert "NormalizeObservation) take 50% of the loop, the environment itself 10%" in found.title
    heavy = [sample("env.step", 3.0, wrapper, frame("train")), sample("env.step", 3.0, STEP)]
    analysis = make(phase("env.step", 6.0), samples=heavy, env_steps=1000)
    assert not step_parts.framework_overhead(analysis)
