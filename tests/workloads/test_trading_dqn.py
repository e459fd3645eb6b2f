"""The trading workload: its market, its environment, its agent, and that it learns."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workload_programs import Workload, value

for library in ("tensorflow", "keras", "pandas", "gymnasium"):
    # Importing TensorFlow itself takes seconds that a skipped run need not spend.
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}", allow_module_level=True)

np = pytest.importorskip("numpy")
WORKLOAD = Workload("trading_dqn")
SHORT, FLAT, LONG = range(3)


@pytest.fixture(scope="module")
def trading() -> Iterator[Any]:
    with WORKLOAD.modules() as modules:
        yield modules


@pytest.fixture(scope="module")
def market(trading: Any) -> Any:
    return trading.data_fetcher.make_market(bars=400, seed=0)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all runs, as a user's would be."""
    return tmp_path_factory.mktemp("market")


def train(
    *arguments: str, interpreter: tuple[str, ...] = (), python_path: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": python_path}
    return WORKLOAD.run(*arguments, interpreter=interpreter, env=environment)


def test_a_market_comes_from_its_seed_and_is_kept(trading: Any, tmp_path: Path) -> None:
    fetcher = trading.data_fetcher.DataFetcher(tmp_path / "new", seed=3)
    first = fetcher.fetch(bars=200)
    assert first.columns.tolist() == ["date", "open", "high", "low", "close", "volume"]
    assert len(first) == 200
    assert fetcher.fetch(bars=200).equals(first), "read back from the file"
    fetcher.path(bars=200).unlink()
    assert fetcher.fetch(bars=200).equals(first), "made again from the seed"
    other = trading.data_fetcher.DataFetcher(tmp_path, seed=4).fetch(bars=200)
    assert not other["close"].equals(first["close"])


def test_bars_are_possible_bars(trading: Any) -> None:
    bars = trading.data_fetcher.make_market(bars=6000, seed=1)
    assert (bars["low"] <= bars[["open", "close"]].min(axis=1)).all()
    assert (bars["high"] >= bars[["open", "close"]].max(axis=1)).all()
    assert bars["close"].between(5, 2000).all()
    assert bars["date"].is_monotonic_increasing


def test_indicators_of_a_market_that_only_rises(trading: Any, market: Any) -> None:
    bars = market.copy()
    close = 100.0 + np.arange(len(bars))
    bars["open"] = bars["close"] = close
    bars["high"], bars["low"] = close + 0.5, close - 0.5
    last = trading.technical_analyzer.TechnicalAnalyzer().indicators(bars).iloc[-1]
    assert last["fast_average"] == pytest.approx(close[-10:].mean())
    assert last["slow_average"] == pytest.approx(close[-30:].mean())
    assert last["rsi"] == pytest.approx(100.0)
    # An exponential average with span n trails a straight line by (n - 1) / 2 bars.
    assert last["macd"] == pytest.approx((26 - 12) / 2, abs=1e-3)
    deviation = close[-20:].std(ddof=1)
    assert last["bollinger_upper"] == pytest.approx(close[-20:].mean() + 2 * deviation)
    assert last["bollinger_lower"] == pytest.approx(close[-20:].mean() - 2 * deviation)
    assert last["atr"] == pytest.approx(1.5), "from the last close to the next high"


def test_indicators_do_not_look_ahead(trading: Any, market: Any) -> None:
    analyzer = trading.technical_analyzer.TechnicalAnalyzer()
    everything = analyzer.features(market)
    for bar in (60, 61, 150, 398):
        assert np.array_equal(analyzer.features(market.iloc[: bar + 1])[-1], everything[bar])
    assert np.isfinite(everything[60:]).all()


@pytest.mark.parametrize("features", ["once", "each-step"])
def test_the_environment_is_a_gymnasium_environment(
    trading: Any, market: Any, features: str
) -> None:
    from gymnasium.utils.env_checker import check_env

    env = trading.trading_environment.TradingEnvironment(market, features)
    check_env(env, skip_render_check=True)


def test_a_position_earns_what_the_price_does_less_the_cost(trading: Any, market: Any) -> None:
    env = trading.trading_environment.TradingEnvironment(market)
    env.reset(options={"start": 100})
    close = market["close"].to_numpy()
    position, account = 0, 10_000.0
    for bar, action in enumerate([LONG, LONG, SHORT, FLAT, FLAT], start=100):
        observation, reward, terminated, truncated, info = env.step(action)
        wanted = action - 1
        gain = wanted * (close[bar + 1] / close[bar] - 1) - 0.0005 * abs(wanted - position)
        position, account = wanted, account * (1 + gain)
        assert reward == pytest.approx(100 * gain)
        assert info["value"] == pytest.approx(account)
        assert observation[-1] == info["position"] == position
        assert not terminated
        assert not truncated


def test_an_episode_lasts_a_hundred_bars(trading: Any, market: Any) -> None:
    env = trading.trading_environment.TradingEnvironment(market)
    env.reset(seed=0)
    endings = [env.step(FLAT)[2:4] for _ in range(100)]
    assert endings == [(False, False)] * 99 + [(False, True)]


def test_a_ruined_account_ends_the_episode(trading: Any, market: Any) -> None:
    crash = market.copy()
    crash.loc[102:, ["open", "high", "low", "close"]] *= 0.3
    env = trading.trading_environment.TradingEnvironment(crash)
    env.reset(options={"start": 100})
    assert env.step(LONG)[2] is False
    assert env.step(LONG)[2] is True


def test_the_trade_log_keeps_every_trade(trading: Any, tmp_path: Path) -> None:
    path = tmp_path / "trades.sqlite"
    steps = [(+1, "buy"), (0, None), (-2, "sell"), (+1, "buy"), (+1, "buy")]
    with trading.trade_log.TradeLog(path, seed=7, log_every=2) as log:
        for step, (traded, _) in enumerate(steps, start=1):
            info = {"bar": 60 + step, "traded": traded, "value": 100.0 * step}
            log.record(step, episode=0, price=10.0 + step, info=info)
    with sqlite3.connect(path) as database:
        trades = database.execute("SELECT step, bar, side, size, price FROM trades").fetchall()
        account = database.execute("SELECT step, value FROM account").fetchall()
    database.close()
    assert trades == [
        (step, 59 + step, side, abs(traded), 10.0 + step)
        for step, (traded, side) in enumerate(steps, start=1)
        if side
    ]
    assert account == [(2, 200.0), (4, 400.0)]


def test_settings_that_only_cost_time_leave_the_weights_alone(data_dir: Path) -> None:
    common = ("--steps", "140", "--no-evaluation", "--data-dir", str(data_dir))
    runs = {
        settings: train(*common, *settings)
        for settings in (
            ("--act", "predict"),
            ("--act", "call", "--features", "each-step", "--log-every", "1"),
            ("--act", "call", "--seed", "1"),
        )
    }
    assert all(run.returncode == 0 for run in runs.values())
    as_usual, otherwise, other_seed = (value(run.stdout, "Weights") for run in runs.values())
    assert as_usual == otherwise
    assert as_usual != other_seed


def test_mixed_precision_trains(data_dir: Path) -> None:
    settings = ("--mixed-precision", "--act", "call", "--hidden", "16", "--batch-size", "8")
    run = train("--steps", "120", "--no-evaluation", "--data-dir", str(data_dir), *settings)
    assert run.returncode == 0, run.stderr
    assert value(run.stdout, "Gradient steps") == "42"


@pytest.mark.parametrize("seed", ["0", "1"])
def test_it_learns(data_dir: Path, seed: str) -> None:
    run = train("--act", "call", "--seed", seed, "--data-dir", str(data_dir))
    assert run.returncode == 0, run.stderr
    assert value(run.stdout, "Total environment steps") == "700"
    assert value(run.stdout, "Episodes completed") == "7"
    learned = float(value(run.stdout, "Return of the learned trader"))
    random = float(value(run.stdout, "Return of the random trader"))
    # Means over 29 unseen episodes, with standard errors of about 5 and 2 percent. Nine seeds
    # were at least 40 percent apart, far more than luck would do.
    assert random < 8.0
    assert learned > random + 25.0


def test_a_run_can_be_limited_by_episodes(data_dir: Path) -> None:
    run = train("--episodes", "1", "--act", "call", "--no-evaluation", "--data-dir", str(data_dir))
    assert run.returncode == 0, run.stderr
    assert value(run.stdout, "Total environment steps") == "100"
    assert re.search(r"^steps +100  episodes +1 .* ms/step$", run.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--steps", "0"], "argument --steps: must be at least 1, not 0"),
        (["--hidden", "wide"], "argument --hidden: 'wide' is not a whole number"),
        (["--act", "guess"], "argument --act: invalid choice: 'guess'"),
        (["--data-dir", __file__], f"argument --data-dir: {__file__}: {os.strerror(17)}"),
        (["--speed"], "unrecognized arguments: --speed"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments: list[str], complaint: str) -> None:
    run = train(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.splitlines()[-1].startswith(f"train.py: error: {complaint}")


@pytest.mark.skipif(sys.platform == "win32", reason="links to folders need rights there")
def test_without_tensorflow_it_says_what_to_install(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for library in ("gymnasium", "keras", "numpy", "pandas"):
        spec = importlib.util.find_spec(library)
        assert spec is not None
        assert spec.origin is not None
        (packages / library).symlink_to(Path(spec.origin).parent, target_is_directory=True)
    # -S leaves out the installed packages; the path brings back all but TensorFlow.
    run = train("--data-dir", str(tmp_path), interpreter=("-S",), python_path=str(packages))
    assert run.returncode == 2
    expected = "not installed: tensorflow; run: pip install 'hotloop[trading]'"
    assert run.stderr == f"train.py: error: {expected}\n"


def test_help_needs_no_libraries() -> None:
    run = train("--help", interpreter=("-S", "-E"))
    assert run.returncode == 0
    for switch in ("--act", "--features", "--mixed-precision", "--log-every", "--seed"):
        assert switch in run.stdout
