"""The portfolio program: its data, its environment, its figures, and whether the agent learns."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from workload_programs import Workload, check_names_the_extra, check_refused

pd = pytest.importorskip("pandas")
pytest.importorskip("stable_baselines3")

WORKLOAD = Workload("portfolio_ppo")
market, preprocessing, environment, metrics = WORKLOAD.load(
    "market", "preprocessing", "environment", "metrics"
)


def short_data(days: int = 200) -> object:
    return preprocessing.to_market_data(preprocessing.preprocess(market.make_prices(days, seed=3)))


# -- data --


def test_prices_are_the_same_for_the_same_seed_only() -> None:
    assert market.make_prices(50, seed=1).equals(market.make_prices(50, seed=1))
    assert not market.make_prices(50, seed=1).equals(market.make_prices(50, seed=2))


def test_features_never_look_ahead() -> None:
    prices = market.make_prices(200, seed=3)
    whole = preprocessing.preprocess(prices)
    cut_off = prices["date"].unique()[150]
    earlier = preprocessing.preprocess(prices[prices["date"] <= cut_off])
    pd.testing.assert_frame_equal(
        whole[whole["date"] <= cut_off].reset_index(drop=True), earlier.reset_index(drop=True)
    )


def test_csv_and_parquet_hold_the_same_data(tmp_path: Path) -> None:
    from_csv = preprocessing.load_data(tmp_path, "csv", 150, 5)
    assert not list(tmp_path.glob("*.parquet"))
    for _ in range(2):  # made the first time, read the second
        from_parquet = preprocessing.load_data(tmp_path, "parquet", 150, 5)
        np.testing.assert_array_equal(from_csv.features, from_parquet.features)
        np.testing.assert_array_equal(from_csv.returns, from_parquet.returns)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".parquet"]


def test_windows_slide_and_are_judged_by_the_days_that_follow() -> None:
    data = preprocessing.MarketData(np.arange(100.0).reshape(100, 1, 1), np.zeros((100, 1)))
    windows = list(preprocessing.sliding_windows(data, 3, training_days=50, testing_days=10))
    ends = [
        (int(window.training.features[0, 0, 0]), int(window.training.features[-1, 0, 0]))
        for window in windows
    ]
    assert ends == [(20, 69), (30, 79), (40, 89)]
    assert [int(window.testing.features[0, 0, 0]) for window in windows] == [70, 80, 90]
    with pytest.raises(ValueError, match="6 windows need 110 days"):
        list(preprocessing.sliding_windows(data, 6, training_days=50, testing_days=10))


# -- the environment --


def test_the_environment_is_a_proper_one() -> None:
    from stable_baselines3.common.env_checker import check_env

    check_env(environment.PortfolioEnv(short_data(), 20))


def test_trading_costs_and_holding_does_not() -> None:
    flat = preprocessing.MarketData(np.zeros((5, 2, 1), np.float32), np.zeros((5, 2)))
    trader = environment.PortfolioEnv(flat, random_start=False)
    trader.reset()
    evenly = np.zeros(3)
    _, reward, _, _, info = trader.step(evenly)
    assert info["turnover"] == pytest.approx(2 / 3)
    assert info["net_return"] == pytest.approx(-2 * environment.COST * 2 / 3)
    assert reward == pytest.approx(100 * np.log1p(info["net_return"]))
    _, reward, _, _, info = trader.step(evenly)
    assert info["turnover"] == pytest.approx(0.0)
    assert reward == pytest.approx(0.0)


def test_an_episode_is_cut_off_after_its_days() -> None:
    trader = environment.PortfolioEnv(short_data(), 20)
    trader.reset(seed=1)
    ends = [trader.step(np.zeros(9))[2:4] for _ in range(20)]
    assert ends == [(False, False)] * 19 + [(False, True)]


# -- the figures --


def test_figures_of_a_known_strategy() -> None:
    days = pd.DataFrame({"net_return": [0.1, -0.5, 0.2], "turnover": [1.0, 0.0, 0.5]})
    performance = metrics.measure(days)
    assert performance.total_return == pytest.approx(1.1 * 0.5 * 1.2 - 1)
    assert performance.max_drawdown == pytest.approx(0.5)
    assert performance.daily_turnover == pytest.approx(0.5)
    mean, spread = np.mean(days["net_return"]), np.std(days["net_return"], ddof=1)
    assert performance.sharpe_ratio == pytest.approx(mean / spread * 252**0.5)


@pytest.mark.parametrize("returns", [[0.0, 0.0], [0.01]])
def test_a_strategy_without_spread_has_no_sharpe_ratio(returns: list[float]) -> None:
    assert metrics.sharpe_ratio(pd.Series(returns)) == 0.0


def test_a_fall_on_the_first_day_is_a_drawdown() -> None:
    assert metrics.max_drawdown(pd.Series([-0.2, 0.1])) == pytest.approx(0.2)


# -- the program --


def test_training_beats_chance_on_days_it_has_not_seen(tmp_path: Path) -> None:
    done = WORKLOAD.run("--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = re.findall(
        r"^(\w+) +episode return (\S+)% \+/- (\S+)% \((\d+)", done.stdout, re.MULTILINE
    )
    by_name = {name: (float(mean), float(error), int(n)) for name, mean, error, n in found}
    trained, trained_error, episodes = by_name["trained"]
    chance, chance_error, _ = by_name["random"]
    assert episodes >= 12
    assert trained - chance > 3.0
    assert trained - chance > 3 * (trained_error**2 + chance_error**2) ** 0.5
    assert trained > by_name["even"][0]
    for word in ("Sharpe", "drawdown", "turnover"):
        assert word in done.stdout


def test_processes_change_where_environments_live_and_nothing_else(tmp_path: Path) -> None:
    arguments = ("--device", "cpu", "--timesteps", "2048", "--windows", "1", "--envs", "2")
    outputs = []
    for more in (("--vec", "dummy", "--data", "parquet"), ("--vec", "subproc", "--data", "csv")):
        done = WORKLOAD.run(*arguments, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        outputs.append(re.sub(r"\d+ steps/s|\((dummy|subproc)\)", "", done.stdout).split())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--envs", "3"),
        ("--batch-size", "4096"),
        ("--windows", "60"),
        ("--vec", "threads"),
        ("--hidden", "-5"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    check_refused(WORKLOAD.run(*arguments, cwd=tmp_path))


def test_a_device_that_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    import torch

    if torch.backends.mps.is_available():
        pytest.skip("this machine has MPS")
    done = WORKLOAD.run("--device", "mps", cwd=tmp_path)
    assert done.returncode == 2
    assert "argument --device" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_missing_library_names_the_extra() -> None:
    check_names_the_extra(WORKLOAD.run_without_libraries(), "portfolio")
