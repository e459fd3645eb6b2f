"""The Snake workload: its rules, its two ways to do the same thing, and that it learns."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from workload_programs import Workload, value

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

WORKLOAD = Workload("snake_dqn")
STRAIGHT, RIGHT, LEFT = range(3)
UP = 0
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def snake() -> Iterator[Any]:
    threads = torch.get_num_threads()
    with WORKLOAD.modules() as modules:
        yield modules
    torch.set_num_threads(threads)


train = WORKLOAD.run


def game(snake: Any, body: list[list[int]], head: tuple[int, int], food: tuple[int, int]) -> Any:
    """One game in a given position, heading up."""
    env = snake.snake_env.SnakeEnv(games=1, size=len(body), seed=0, device=CPU)
    env.reset()
    env.boards.body[0] = torch.tensor(body)
    env.boards.head[0] = torch.tensor(head)
    env.boards.direction[0] = UP
    env.boards.food[0] = torch.tensor(food)
    env._length[0] = max(max(row) for row in body)
    return env


SHORT_SNAKE = [
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
    [0, 0, 3, 0, 0],
    [0, 0, 2, 0, 0],
    [0, 0, 1, 0, 0],
]


def test_a_move_shifts_the_body(snake: Any) -> None:
    env = game(snake, SHORT_SNAKE, head=(2, 2), food=(0, 0))
    step = env.step(torch.tensor([RIGHT]))
    assert env.boards.head.tolist() == [[2, 3]]
    assert env.boards.body[0, 2].tolist() == [0, 0, 2, 3, 0]
    assert env.boards.body.count_nonzero() == 3
    assert step.rewards.tolist() == [0.0]
    assert step.dones.tolist() == [False]


def test_food_makes_the_snake_longer_and_appears_elsewhere(snake: Any) -> None:
    env = game(snake, SHORT_SNAKE, head=(2, 2), food=(1, 2))
    step = env.step(torch.tensor([STRAIGHT]))
    assert step.rewards.tolist() == [1.0]
    assert env.boards.body.count_nonzero() == 4
    row, column = env.boards.food[0].tolist()
    assert env.boards.body[0, row, column] == 0


def test_the_wall_kills(snake: Any) -> None:
    env = game(snake, SHORT_SNAKE[2:] + SHORT_SNAKE[:2], head=(0, 2), food=(4, 4))
    step = env.step(torch.tensor([STRAIGHT]))
    assert step.rewards.tolist() == [-1.0]
    assert step.dones.tolist() == [True]
    assert step.ended_returns.tolist() == [-1.0]
    assert step.ended_lengths.tolist() == [1]
    assert env.boards.body.count_nonzero() == 3, "a new game has begun"


TAIL_LEFT_OF_THE_HEAD = [
    [0, 0, 0, 0, 0],
    [0, 1, 4, 0, 0],
    [0, 2, 3, 0, 0],
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
]
BODY_LEFT_OF_THE_HEAD = [
    [0, 0, 0, 0, 0],
    [1, 2, 5, 0, 0],
    [0, 3, 4, 0, 0],
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
]


@pytest.mark.parametrize(
    ("body", "dies"), [(TAIL_LEFT_OF_THE_HEAD, False), (BODY_LEFT_OF_THE_HEAD, True)]
)
def test_only_the_tail_makes_way(snake: Any, body: list[list[int]], dies: bool) -> None:
    env = game(snake, body, head=(1, 2), food=(4, 4))
    assert env.step(torch.tensor([LEFT])).dones.tolist() == [dies]


def test_a_snake_that_circles_starves(snake: Any) -> None:
    env = game(snake, SHORT_SNAKE, head=(2, 2), food=(0, 0))
    for _ in range(env.hunger_limit - 1):
        assert not env.step(torch.tensor([RIGHT])).dones.any()
    step = env.step(torch.tensor([RIGHT]))
    assert step.dones.tolist() == [True]
    assert step.rewards.tolist() == [-1.0]


def test_boards_stay_sound_through_random_play(snake: Any) -> None:
    env = snake.snake_env.SnakeEnv(games=64, size=6, seed=1, device=CPU)
    env.reset()
    player = snake.evaluation.random_player(seed=2, device=CPU)
    every = torch.arange(64)
    for _ in range(300):
        step = env.step(player(env.boards.head))
        body, head, food = env.boards.body, env.boards.head, env.boards.food
        lengths = body[every, head[:, 0], head[:, 1]]
        assert torch.equal(body.flatten(1).count_nonzero(dim=1), lengths.long())
        assert torch.equal(body.flatten(1).max(dim=1).values, lengths)
        assert (body[every, food[:, 0], food[:, 1]] == 0).all()
        assert len(step.ended_returns) == step.dones.sum()


def test_both_flood_fills_find_the_same_space_on_random_boards(snake: Any) -> None:
    features = snake.features
    random = torch.Generator().manual_seed(3)
    for density in (0.0, 0.2, 0.35, 0.5, 0.8, 1.0):
        body = (torch.rand((200, 9, 9), generator=random) < density).int()
        blocked = snake.boards.walled(body)
        cells = torch.randint(0, 11, (200, 3, 2), generator=random)
        expected = features.reachable_python(blocked, cells)
        assert torch.equal(features.reachable_vectorized(blocked, cells), expected)


def test_both_flood_fills_give_the_same_observations_in_play(snake: Any) -> None:
    env = snake.snake_env.SnakeEnv(games=64, size=8, seed=4, device=CPU)
    observations = env.reset()
    for _ in range(100):
        # Greedy for food, so that snakes grow long enough to lock themselves in.
        ahead = snake.boards.cells_ahead(env.boards) - 1
        distance = (ahead - env.boards.food[:, None]).abs().sum(dim=2)
        observations = env.step((distance + 100 * observations[:, :3]).argmin(dim=1)).observations
        plain, vectorized = (
            snake.features.observe(env.boards, kind) for kind in ("python", "vectorized")
        )
        assert torch.equal(plain, vectorized)
        assert torch.equal(plain[:, :11], observations)
    assert (plain[:, 11:] < 1.0).any()


def test_flood_fill_counts_what_a_wall_cuts_off(snake: Any) -> None:
    body = [
        [0, 1, 0, 0, 0],
        [0, 2, 0, 0, 0],
        [0, 3, 0, 0, 0],
        [0, 4, 0, 0, 0],
        [6, 5, 0, 0, 0],
    ]
    # Heading up in the lower left corner: 4 of 19 free cells ahead, the body right, a wall left.
    env = game(snake, body, head=(4, 0), food=(0, 4))
    for kind in ("python", "vectorized"):
        room = snake.features.observe(env.boards, kind)[0, 11:]
        assert room.tolist() == pytest.approx([4 / 19, 0.0, 0.0])


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 25])
def test_a_batch_leaves_the_buffer_as_single_pushes_do(snake: Any, rows: int) -> None:
    random = np.random.default_rng(5)
    one_by_one, together = (
        snake.replay_buffer.ReplayBuffer(capacity=10, features=4, seed=6) for _ in range(2)
    )
    for _ in range(5):
        states, next_states = random.normal(size=(2, rows, 4)).astype(np.float32)
        actions = random.integers(3, size=rows)
        rewards = random.normal(size=rows).astype(np.float32)
        dones = random.random(rows) < 0.5
        for row in zip(states, actions, rewards, next_states, dones, strict=True):
            one_by_one.push(*row)
        together.push_batch(states, actions, rewards, next_states, dones)
        assert len(together) == len(one_by_one)
        for expected, got in zip(one_by_one.sample(50, CPU), together.sample(50, CPU), strict=True):
            assert torch.equal(got, expected)


def test_settings_that_only_cost_time_leave_the_weights_alone() -> None:
    common = ("--steps", "4000", "--envs", "64", "--no-evaluation")
    weights = {
        settings: value(train(*common, *settings).stdout, "Weights")
        for settings in (
            ("--push", "batch"),
            ("--push", "loop"),
            ("--flood-fill", "python"),
            ("--flood-fill", "vectorized"),
            ("--seed", "1"),
        )
    }
    assert weights["--push", "batch"] == weights["--push", "loop"]
    assert weights["--flood-fill", "python"] == weights["--flood-fill", "vectorized"]
    assert len(set(weights.values())) == 3


def test_slow_means_pushes_in_a_loop_and_a_gradient_step_for_every_four_games(snake: Any) -> None:
    parse = snake.options.parse_options
    assert parse(["--slow"]) == parse(["--push", "loop", "--train-ratio", "64"])
    assert parse(["--slow", "--envs", "32"]).train_ratio == 8
    assert parse(["--slow", "--envs", "2"]).train_ratio == 1


def test_slow_costs_at_least_ten_times_as_much(snake: Any) -> None:
    def cpu_seconds(*settings: str) -> float:
        arguments = ["--steps", "10240", "--device", "cpu", *settings]
        trainer = snake.trainer.Trainer(snake.options.parse_options(arguments))
        started = time.process_time()
        trainer.train()
        return time.process_time() - started

    # Side by side and the best of each, so that other load hits neither alone.
    pairs = [(cpu_seconds("--slow"), cpu_seconds()) for _ in range(2)]
    slow, fast = (min(seconds) for seconds in zip(*pairs, strict=True))
    assert slow / fast >= 10.0


@pytest.mark.parametrize(("ratio", "expected"), [(0.0, 0), (0.25, 5), (2.0, 40)])
def test_the_train_ratio_counts_gradient_steps(snake: Any, ratio: float, expected: int) -> None:
    options = snake.options.parse_options(["--train-ratio", str(ratio), "--steps", str(27 * 256)])
    trainer = snake.trainer.Trainer(options)
    trainer.train()
    # The buffer is too empty to learn from until the eighth of these 27 vector steps.
    assert trainer.gradient_steps == expected


@pytest.mark.parametrize("seed", ["0", "1"])
def test_it_learns(seed: str) -> None:
    run = train("--steps", "250000", "--seed", seed)
    assert run.returncode == 0, run.stderr
    learned = float(value(run.stdout, "Return of the learned player"))
    random = float(value(run.stdout, "Return of the random player"))
    # Means over 256 games, with standard errors of about 0.4 and 0.03.
    assert random < 0.0
    assert learned > 8.0


def test_the_end_of_a_run_sums_up() -> None:
    run = train("--episodes", "300", "--log-every", "5", "--no-evaluation")
    assert run.returncode == 0, run.stderr
    steps, episodes = (
        int(value(run.stdout, label)) for label in ("Total environment steps", "Episodes completed")
    )
    assert episodes >= 300
    assert steps % 256 == 0
    per_episode = float(value(run.stdout, "Steps per episode (avg)"))
    assert per_episode == pytest.approx(steps / episodes, abs=0.05)
    assert float(value(run.stdout, "Wall time")) > 0
    assert re.search(r"^steps +1,280 .* steps/s$", run.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--envs", "0"], "argument --envs: must be at least 1, not 0"),
        (["--envs", "many"], "argument --envs: 'many' is not a whole number"),
        (["--train-ratio", "-1"], "argument --train-ratio: must be zero or more, not -1"),
        (["--push", "often"], "argument --push: invalid choice: 'often'"),
        (["--slow", "--push", "batch"], "argument --slow: sets --push and --train-ratio itself"),
        (["--speed"], "unrecognized arguments: --speed"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments: list[str], complaint: str) -> None:
    run = train(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.splitlines()[-1].startswith(f"train.py: error: {complaint}")


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="this machine has the device")
def test_a_missing_device_gets_one_line_and_exit_code_2() -> None:
    run = train("--device", "mps")
    assert run.returncode == 2
    assert run.stderr == "train.py: error: --device mps: not available here; try --device auto\n"


def test_without_torch_it_says_what_to_install() -> None:
    # -S leaves out the installed packages; the standard library is still there.
    run = train("--steps", "1", interpreter=("-S", "-E"))
    assert run.returncode == 2
    expected = "not installed: numpy, torch; run: pip install 'hotloop[snake]'"
    assert run.stderr == f"train.py: error: {expected}\n"


def test_help_needs_no_libraries() -> None:
    run = train("--help", interpreter=("-S", "-E"))
    assert run.returncode == 0
    for switch in ("--envs", "--push", "--train-ratio", "--flood-fill", "--slow", "--seed"):
        assert switch in run.stdout
