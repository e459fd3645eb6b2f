"""The board game from pictures: rules, drawing, memory, profiling, and whether the agent learns."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from workload_programs import Workload, check_names_the_extra, check_refused, figures

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")
pytest.importorskip("gymnasium")

OPERATIONS = {
    "env_rgb_observation_generation",
    "env_rgb_rendering",
    "env_rgb_resizing",
    "env_rgb_draw_grid",
    "env_rgb_draw_walls",
    "env_rgb_draw_robots",
    "env_rgb_draw_target",
    "convlstm_forward_pass",
    "convlstm_boundary_padding",
    "convlstm_conv_encoder",
    "convlstm_skip_connection",
    "convlstm_layers",
    "convlstm_global_pooling",
    "convlstm_projection",
    "recurrent_policy_forward",
    "recurrent_policy_get_hidden_states",
    "recurrent_policy_action_value",
    "recurrent_policy_action_dist",
    "recurrent_policy_action_sampling",
    "training_total",
    "training_data_collection",
    "training_model_update",
}
SHORT = ("--timesteps", "128", "--envs", "4", "--rollout-steps", "16", "--eval-episodes", "64")


WORKLOAD = Workload("ricochet_rgb")
board, rendering, environment, encoder, ppo, training = WORKLOAD.load(
    "board", "rendering", "environment", "encoder", "ppo", "training"
)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(
        [str(WORKLOAD.folder.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    )
    return WORKLOAD.run(*arguments, cwd=cwd, env=os.environ | {"PYTHONPATH": path})


# -- the rules --


def test_a_robot_slides_until_an_edge_a_wall_or_a_robot_stops_it() -> None:
    wall = {((2, 1), board.RIGHT), ((2, 2), board.LEFT)}
    game = board.Board(5, frozenset(wall), target=(4, 4))
    assert game.slide([(0, 0)], 0, board.RIGHT) == (0, 4)
    assert game.slide([(2, 0)], 0, board.RIGHT) == (2, 1)
    assert game.slide([(2, 4)], 0, board.LEFT) == (2, 2)
    assert game.slide([(0, 0), (3, 0)], 0, board.DOWN) == (2, 0)
    assert game.slide([(0, 0), (1, 0)], 0, board.DOWN) == (0, 0)


@pytest.mark.parametrize("seed", range(10))
def test_every_start_can_be_solved_but_not_at_once(seed: int) -> None:
    for game in board.random_boards(5, 5, 2, seed):
        assert len(game.starts) > 3
        for start in game.starts:
            assert game.distances[start] >= 2
            assert game.target not in [game.slide([start], 0, way) for way in range(4)]


# -- the pictures --


def test_the_picture_shows_target_and_robots_where_they_are() -> None:
    game = board.Board(5, frozenset(), target=(4, 3))
    picture = np.asarray(rendering.render(game, [(0, 1), (2, 2)]))

    def middle(row: int, column: int) -> tuple[int, ...]:
        half = rendering.CELL // 2
        return tuple(picture[row * rendering.CELL + half, column * rendering.CELL + half])

    assert middle(4, 3) == rendering.TARGET
    assert middle(0, 1) == rendering.ROBOTS[0]
    assert middle(2, 2) == rendering.ROBOTS[1]
    assert middle(3, 0) == rendering.BACKGROUND


def test_the_environment_is_a_proper_one() -> None:
    from gymnasium.utils.env_checker import check_env

    game = environment.RicochetEnv(board.random_boards(5, 5, 2, 0), robots=2, pixels=20)
    check_env(game, skip_render_check=True)


def test_reaching_the_target_ends_the_episode() -> None:
    for seed in range(20):
        games = board.random_boards(5, 5, 1, seed)
        game = environment.RicochetEnv(games, robots=1, pixels=20)
        game.reset(seed=seed)
        rng = np.random.default_rng(seed)
        outcomes: list[tuple[float, bool, bool]] = []
        while not outcomes or not (outcomes[-1][1] or outcomes[-1][2]):
            outcomes.append(game.step(rng.integers(4))[1:4])
        reward, solved, out_of_time = outcomes[-1]
        assert solved != out_of_time
        assert (reward > 0) == solved
        assert len(outcomes) <= environment.LONGEST_EPISODE


# -- the network and the learning --


def test_a_sequence_is_encoded_as_its_steps_one_by_one() -> None:
    torch.manual_seed(0)
    network = encoder.ConvLSTMEncoder(pixels=20, channels=4, layers=2, features=8)
    pictures = torch.randint(0, 256, (6, 3, 20, 20, 3), dtype=torch.uint8)
    keep = torch.ones(6, 3)
    keep[0] = 0.0
    keep[3, 1] = 0.0  # a new episode in the middle of one sequence
    with torch.no_grad():
        together, _ = network(pictures, network.initial_state(3), keep)
        states, steps = network.initial_state(3), []
        for time in range(6):
            features, states = network(pictures[time : time + 1], states, keep[time : time + 1])
            steps.append(features[0])
        torch.testing.assert_close(together, torch.stack(steps))
        fresh, _ = network(pictures[3:, 1:2], network.initial_state(1), torch.ones(3, 1))
        torch.testing.assert_close(together[3:, 1:2], fresh)


def test_advantages_stop_at_the_end_of_an_episode() -> None:
    column = torch.tensor([[1.0], [2.0], [4.0]])
    zero = torch.zeros(3, 1)
    ended = torch.tensor([[0.0], [1.0], [0.0]])
    rollout = ppo.Rollout(
        [], zero, zero, zero, zero, torch.full((3, 1), 0.5), column, ended, torch.tensor([3.0])
    )
    last = 4.0 + ppo.GAMMA * 3.0 - 0.5
    second = 2.0 - 0.5
    first = 1.0 + ppo.GAMMA * 0.5 - 0.5 + ppo.GAMMA * ppo.GAE_LAMBDA * second
    torch.testing.assert_close(rollout.advantages().squeeze(1), torch.tensor([first, second, last]))


# -- the program --


def test_summaries_come_once_in_every_so_many_steps() -> None:
    due = [done for done in range(48, 481, 48) if training.summary_is_due(done, 48, 100)]
    assert due == [144, 240, 336, 432]
    assert not training.summary_is_due(1000, 100, 0)


def test_training_beats_chance(tmp_path: Path) -> None:
    done = run("--timesteps", "12000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    trained, trained_error = figures(done.stdout, "trained")
    chance, chance_error = figures(done.stdout, "random")
    assert trained - chance > 0.4
    assert trained - chance > 5 * (trained_error**2 + chance_error**2) ** 0.5
    assert list(tmp_path.iterdir()) == []


def test_profiling_reports_every_operation_and_leaves_the_training_as_it_is(
    tmp_path: Path,
) -> None:
    plain = run(*SHORT, cwd=tmp_path)
    report = ("--enable-profiling", "--profiling-report", "mine.json")
    profiled = run(*SHORT, *report, "--profiling-summary-freq", "64", cwd=tmp_path)
    assert plain.returncode == profiled.returncode == 0, plain.stderr + profiled.stderr
    assert "training_model_update" in profiled.stdout
    assert "training_model_update" not in plain.stdout
    for who in ("trained", "random"):
        assert figures(plain.stdout, who) == figures(profiled.stdout, who)

    document = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))
    assert document["schema"] == "hotloop.report/2"
    calls: dict[str, int] = {}
    for phase in document["phases"]:
        calls[phase["name"]] = calls.get(phase["name"], 0) + phase["calls"]
    assert set(calls) >= OPERATIONS
    assert calls["training_total"] == 1
    assert calls["training_data_collection"] == calls["training_model_update"] == 2
    peaks = {phase["name"]: phase["cpu_peak_mb"] for phase in document["phases"]}
    assert peaks["training_total"] > 0


def test_the_same_seed_gives_the_same_training(tmp_path: Path) -> None:
    def without_speeds(seed: str) -> str:
        return re.sub(r" *\d+ steps/s", "", run(*SHORT, "--seed", seed, cwd=tmp_path).stdout)

    assert without_speeds("3") == without_speeds("3")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--timesteps", "0"),
        ("--robots", "9"),
        ("--pixels", "21"),
        ("--minibatches", "99"),
        ("--learning-rate", "nan"),
        ("--enable-profiling", "--profiling-report", "no/such/folder/report.json"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    check_refused(run(*arguments, cwd=tmp_path))


def test_a_missing_library_names_the_extra() -> None:
    check_names_the_extra(WORKLOAD.run_without_libraries(), "ricochet")
