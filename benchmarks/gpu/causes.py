"""Right cause, right gain: programs with a known cause and its fix, and healthy ones.

`python -m benchmarks.gpu --causes --out FOLDER` runs each program under hotloop and plain, slow and
fixed in turn, and compares kernel time and critical path with a full trace. `--budget` limits its
time. Writes `causes.json`, `causes.md` and `reports.txt`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import runpy
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gpu import critical

PROGRAMS = Path(__file__).parent / "programs"
LOUD = ("critical", "warning")

#: How long one program may take, in seconds.
LIMIT = 60

#: What a range of gains may miss by: plain runs of one program differ by this much.
NOISE = 0.03


@dataclass(frozen=True)
class Case:
    """A program, the findings that are right for it, and the arguments that fix it."""

    file: str
    #: Which finding may come first; empty where none may appear.
    causes: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    #: Which finding the fix is for, where another one may come first.
    fixes: str = ""
    #: Whether no finding is right as well: a loop that is bound by its simulator, for example.
    silent: bool = False
    traced: bool = True
    #: Whether a forked process may run it: one with OpenMP threads may hang there.
    forked: bool = True
    #: Arguments for a quick look without a GPU.
    tiny: tuple[str, ...] = ()


CASES = (
    Case("gru_steps.py", ("stepwise-recurrence", "launch-bound"), ("--fused",)),
    Case("host_replay.py", ("host-transfers",), ("--on-device",)),
    Case("sync_act.py", ("sync-per-step",), ("--fixed",), tiny=("--envs=32", "--width=16")),
    Case("ppo_mlp.py", ("small-work-on-gpu", "launch-bound"), ("--device", "cpu")),
    Case(
        "per_tensor_adam.py",
        ("unfused-optimizer",),
        ("--fixed",),
        tiny=("--blocks=3", "--width=16", "--envs=32"),
    ),
    Case("large_actor_critic.py", ("tf32-off",), ("--tf32",), tiny=("--width=32",)),
    Case(
        "clip_loader.py",
        ("loader-bound",),
        ("--fixed",),
        traced=False,
        tiny=("--batch=8", "--count=64", "--size=32"),
    ),
    Case(
        "float_frames.py", ("host-transfers", "pageable-copies"), ("--fixed",), tiny=("--envs=4",)
    ),
    Case(
        "device_gae.py",
        ("python-gae", "launch-bound"),
        ("--fixed",),
        tiny=("--envs=16", "--horizon=32"),
    ),
    Case(
        "critic_ensemble.py",
        ("launch-bound",),
        ("--fixed",),
        tiny=("--critics=4", "--width=16", "--size=1000"),
    ),
    Case("conv_healthy.py", tiny=("--rows=4", "--width=8")),
    Case(
        "swarm_sim.py",
        ("env-bound",),
        silent=True,
        traced=False,
        tiny=("--envs=8", "--particles=8"),
    ),
    Case("device_sim.py", tiny=("--envs=64", "--width=16")),
    Case(
        "transformer_policy.py",
        tiny=("--batch=2", "--context=16", "--width=64", "--layers=2", "--steps=1000"),
    ),
    Case("masked_loss.py", ("sync-per-step", "launch-bound"), ("--fixed",), tiny=("--envs=64",)),
    Case(
        "amp_small.py",
        ("mixed-precision-no-gain", "small-work-on-gpu", "launch-bound"),
        ("--fixed",),
        "mixed-precision-no-gain",
        tiny=("--batch=32",),
    ),
    Case(
        "idle_card.py",
        ("device-unused",),
        ("--fixed",),
        traced=False,
        forked=False,
        tiny=("--width=64",),
    ),
    Case("tidy_every_update.py", ("gc-every-step",), ("--fixed",)),
    Case(
        "clone_images.py",
        ("pageable-copies", "host-transfers"),
        ("--fixed",),
        forked=False,
        tiny=("--batches=2", "--side=40"),
    ),
    Case(
        "polyak_each.py",
        ("target-update-loop", "launch-bound"),
        ("--fixed",),
        "target-update-loop",
    ),
    Case("lstm_policy.py", ("launch-bound",), tiny=("--width=16",)),
    Case(
        "gpt_reinforce.py",
        ("no-kv-cache",),
        ("--fixed",),
        traced=False,
        tiny=("--layers=2", "--width=48"),
    ),
    Case("jax_eager.py", ("missing-jit",), ("--fixed",), traced=False),
    Case("jax_scan_healthy.py", traced=False, tiny=("--envs=16", "--width=16")),
    Case(
        "signal_memory.py",
        ("stepwise-recurrence", "launch-bound"),
        ("--fixed",),
        tiny=("--envs=8", "--horizon=16", "--width=32"),
    ),
    Case(
        "flock.py",
        ("launch-bound", "unbatched-policy", "small-work-on-gpu"),
        ("--fixed",),
        tiny=("--birds=8", "--worlds=8", "--width=16"),
    ),
    Case(
        "messwerte.py",
        ("host-transfers", "sync-per-step"),
        ("--fixed",),
        tiny=("--anzahl=64", "--dauer=8"),
    ),
    Case(
        "curves.py",
        ("sync-per-step", "logging", "launch-bound"),
        ("--fixed",),
        tiny=("--tops=16", "--width=32"),
    ),
    Case(
        "td3_small.py",
        ("list-to-tensor", "per-item-buffer-push", "host-transfers"),
        ("--fixed",),
        tiny=("--batch=256", "--hidden=32"),
    ),
    Case(
        "offline_return.py",
        ("loader-bound", "data-loading"),
        ("--fixed",),
        traced=False,
        forked=False,
        tiny=("--flights=20", "--batch=16", "--width=32", "--workers=2"),
    ),
    Case(
        "annealed.py",
        ("recompilation", "retracing"),
        ("--fixed",),
        traced=False,
        tiny=("--envs=16", "--width=16"),
    ),
    Case("walkers.py", traced=False, tiny=("--envs=16", "--horizon=8", "--width=32")),
    Case(
        "ensemble_model.py",
        tiny=("--members=3", "--width=32", "--batch=64", "--plants=4", "--plans=16"),
    ),
    Case("kran.py", tiny=("--anzahl=16", "--dauer=8", "--breite=32")),
)


@dataclass
class Result:
    """What was measured of one case; filled in as its runs end."""

    case: Case
    slow: list[dict[str, float]] = field(default_factory=list)
    fixed: list[dict[str, float]] = field(default_factory=list)
    hotloop: dict[str, float] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    truth: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[dict[str, Any]]:
        return [f for f in self.report.get("findings", ()) if f["severity"] in LOUD]

    @property
    def first_right(self) -> bool:
        if not self.report:
            return False
        if not self.findings:
            return self.case.silent or not self.case.causes
        return self.findings[0]["id"] in self.case.causes

    @property
    def measured_gain(self) -> float | None:
        if not self.slow or not self.fixed:
            return None
        return _speed(self.fixed) / _speed(self.slow)

    @property
    def gain_inside(self) -> bool | None:
        """Whether the range of the finding that was fixed holds what it gave; None without both."""
        gain = self._promised()
        if self.measured_gain is None or gain is None:
            return None
        low, high = gain["low"] * (1 - NOISE), gain["high"] * (1 + NOISE)
        return bool(low <= self.measured_gain <= high)

    def _promised(self) -> dict[str, float] | None:
        wanted = (self.case.fixes,) if self.case.fixes else self.case.causes
        gains: list[dict[str, float]] = [f["gain"] for f in self.findings if f["id"] in wanted]
        return gains[0] if gains and self.first_right else None

    @property
    def loop_ratio(self) -> float | None:
        """Time per step with hotloop over plain. A single run each: tells large costs only."""
        if not self.slow or not self.hotloop:
            return None
        return _speed(self.slow) / self.hotloop["steps_per_s"]

    @property
    def busy(self) -> tuple[float | None, float | None]:
        """The card's busy share, by the recordings and by the driver."""
        device = self.report.get("device") or {}
        return device.get("kernel_share"), (device.get("figures") or {}).get("busy")

    def against_trace(self) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
        """By range: share of the critical path (hotloop, trace), and error of kernel time."""
        figures = self.truth.get("figures")
        if not figures or not self.report or not self.report.get("device"):
            return {}, {}
        shares = critical.shares(self.report, self.hotloop["loop_s"], figures)
        scale = self.hotloop["steps"] / self.truth["steps"]
        return shares, critical.kernel_errors(self.report["device"], figures["seconds"], scale)

    def as_json(self) -> dict[str, Any]:
        shares, kernels = self.against_trace()
        return {
            "program": self.case.file,
            "causes": self.case.causes,
            "findings": [
                {key: f[key] for key in ("id", "severity", "gain", "ceiling")}
                for f in self.findings
            ],
            "first_right": self.first_right,
            "measured_gain": self.measured_gain,
            "gain_inside": self.gain_inside,
            "loop_ratio": self.loop_ratio,
            "busy": self.busy,
            "critical": shares,
            "kernel_errors": kernels,
            "slow": self.slow,
            "fixed": self.fixed,
            "hotloop": self.hotloop,
            "truth": self.truth,
            "failures": self.failures,
            "report": self.report,
        }


def _speed(runs: list[dict[str, float]]) -> float:
    return statistics.median(run["steps_per_s"] for run in runs)


# -- running --


def _child(script: Path, arguments: list[str], output: Path) -> None:
    """In a forked process: torch is imported already, CUDA is not started."""
    with output.open("w") as out:
        for stream in (1, 2):
            os.dup2(out.fileno(), stream)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    sys.stdout.flush()


class Runner:
    """Runs programs in a scratch folder; reports are made beside the next program's start."""

    def __init__(self, folder: Path, device: str, seconds: float, short: float) -> None:
        self.folder, self.device = folder, device
        self.seconds, self.short = seconds, short
        self._count = 0
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        absolute = os.pathsep.join(os.path.abspath(path) for path in paths if path)
        self._environment = {**os.environ, "PYTHONPATH": absolute}

    def arguments(self, case: Case, seconds: float) -> list[str]:
        tiny = () if self.device == "cuda" else case.tiny
        return ["--device", self.device, "--seconds", str(seconds), *tiny]

    def plain(self, case: Case, *more: str) -> dict[str, float]:
        """The program's own last line. Forked, to save the seconds that importing torch takes."""
        output = self._file("txt")
        arguments = [*self.arguments(case, self.short), *more]
        script = PROGRAMS / case.file
        if not case.forked:
            return self._subprocess([sys.executable, str(script), *arguments])
        fork = multiprocessing.get_context("fork")
        process = fork.Process(target=_child, args=(script, arguments, output))
        process.start()
        process.join(LIMIT)
        if process.is_alive():
            process.kill()
            raise RuntimeError(f"{case.file} {more}: not done after {LIMIT} s")
        return _last_line(process.exitcode, output.read_text())

    def hotloop(self, case: Case) -> tuple[dict[str, float], Path]:
        capture = self._file("capture")
        command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", str(capture)]
        command += ["--gpu", "windows", str(PROGRAMS / case.file)]
        command += self.arguments(case, self.seconds)
        return self._subprocess(command), capture

    def _subprocess(self, command: list[str]) -> dict[str, float]:
        """A program's last line. One that hangs is aborted, and says where it was."""
        environment = {**self._environment, "PYTHONFAULTHANDLER": "1"}
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, cwd=self.folder, env=environment
        )
        try:
            out, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            out, errors = process.communicate()
        return _last_line(process.returncode, out, errors)

    def report(self, capture: Path, form: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", form]
        output = capture.with_suffix(f".{form}").open("w")
        with output:
            return subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=self._environment, text=True
            )

    def truth(self, case: Case) -> dict[str, Any]:
        """A full trace of a short run. Not forked: the profiler is not known to survive that."""
        file = self._file("json")
        command = [sys.executable, str(PROGRAMS / case.file), "--truth", str(file)]
        command += self.arguments(case, min(self.short, 1.0))
        line = self._subprocess(command)
        return {"figures": json.loads(file.read_text()), "steps": line["steps"]}

    def _file(self, ending: str) -> Path:
        self._count += 1
        return self.folder / f"{self._count}.{ending}"


def _last_line(code: int | None, output: str, errors: str = "") -> dict[str, float]:
    if code:
        raise RuntimeError(f"exit code {code}: {(errors or output)[-1500:]}")
    lines = [line for line in output.splitlines() if line.startswith('{"loop_s"')]
    result: dict[str, float] = json.loads(lines[-1])
    return result


def measure(runner: Runner, options: argparse.Namespace) -> list[Result]:
    """Every case that the time allows."""
    chosen = [c for c in CASES if not options.only or c.file in options.only]
    results, making = [], []
    for case in chosen:
        if time.perf_counter() - _BEGAN > options.budget:
            _say(f"no time left for {case.file}")
            break
        result = Result(case)
        results.append(result)
        try:
            capture = _runs(runner, result, options.pairs)
            making.append(
                (result, [(form, runner.report(capture, form)) for form in FORMS], capture)
            )
        except RuntimeError as error:
            result.failures.append(str(error))
        _say(f"{case.file}: {result.failures or result.hotloop}")
    for result, processes, capture in making:
        _collect(result, processes, capture)
    return results


def trace(runner: Runner, results: list[Result], budget: float) -> None:
    """References, for as many as the time allows."""
    for result in results:
        if result.case.traced and time.perf_counter() - _BEGAN < budget:
            try:
                result.truth = runner.truth(result.case)
            except RuntimeError as error:
                result.failures.append(f"trace: {error}")
            _say(f"trace of {result.case.file}")


FORMS = ("json", "text")


def _runs(runner: Runner, result: Result, pairs: int) -> Path:
    """Plain runs in turn, slow and fixed; hotloop's between them."""
    case, capture = result.case, None
    for number in range(pairs):
        result.slow.append(runner.plain(case))
        if case.fix:
            result.fixed.append(runner.plain(case, *case.fix))
        if number == (pairs - 1) // 2:
            result.hotloop, capture = runner.hotloop(case)
    assert capture is not None
    return capture


def _collect(result: Result, processes: list[tuple[str, Any]], capture: Path) -> None:
    for form, process in processes:
        process.wait()
        content = capture.with_suffix(f".{form}").read_text()
        if process.returncode:
            result.failures.append(f"report: {content[-1500:]}")
        elif form == "json":
            result.report = json.loads(content)
        else:
            result.text = content


# -- showing --


def table(results: list[Result]) -> str:
    head = (
        "program", "right causes", "findings (gain of the loop)", "first right", "measured gain",
        "inside", "busy: report / driver", "loop with hotloop / plain",
        "worst critical share, points", "worst kernel time",
    )  # fmt: skip
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    lines += [" | ".join(_cells(result)) for result in results]
    return "\n".join(f"| {line} |" for line in lines) + "\n\n" + summary(results)


def _cells(result: Result) -> list[str]:
    shares, kernels = result.against_trace()
    points = max((abs(a - b) for a, b in shares.values()), default=None)
    worst = max(kernels.values(), key=abs, default=None)
    causes = ", ".join(result.case.causes) or "none"
    return [
        result.case.file,
        f"{causes} or none" if result.case.silent else causes,
        "; ".join(
            f"{f['id']} {f['severity']} {f['gain']['low']:.2f} to {f['gain']['high']:.2f}"
            for f in result.findings
        )
        or ("none" if result.report else "failed"),
        "yes" if result.first_right else "**no**",
        _number(result.measured_gain, ".2f"),
        {True: "yes", False: "**no**", None: "-"}[result.gain_inside],
        " / ".join(_number(each, ".0%") for each in result.busy),
        _number(result.loop_ratio, ".3f"),
        _number(points and 100 * points, ".1f"),
        _number(worst, "+.1%"),
    ]


def summary(results: list[Result]) -> str:
    judged = [r.gain_inside for r in results if r.gain_inside is not None]
    healthy = [r for r in results if not r.case.causes or r.case.silent]
    ratios = [r.loop_ratio for r in results if r.loop_ratio is not None]
    ratio = statistics.median(ratios) if ratios else None
    return (
        f"first finding right: {sum(r.first_right for r in results)} of {len(results)}; "
        f"healthy without a false alarm: {sum(r.first_right for r in healthy)} of {len(healthy)}; "
        f"measured gain inside the range: {sum(judged)} of {len(judged)}; "
        f"loop time ratio, median: {_number(ratio, '.3f')}; "
        f"failures: {sum(bool(r.failures) for r in results)}"
    )


def save(out: Path, title: str, results: list[Result]) -> str:
    """Write everything, and return the table."""
    out.mkdir(parents=True, exist_ok=True)
    text = f"{title}\n\n{table(results)}\n"
    content = {"machine": title, "cases": [result.as_json() for result in results]}
    (out / "causes.json").write_text(json.dumps(content))
    (out / "causes.md").write_text(text)
    reports = "\n".join(f"===== {r.case.file}\n{r.text}" for r in results)
    (out / "reports.txt").write_text(reports)
    return text


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


_BEGAN = time.perf_counter()


def _say(text: str) -> None:
    print(f"[{time.perf_counter() - _BEGAN:4.0f} s] {text}", file=sys.stderr, flush=True)


def _card(folder: Path) -> str:
    """Asked in a process of its own: a parent that has started CUDA cannot fork."""
    code = "import torch; print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else '')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu --causes", description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], help="cpu: tiny sizes, for a check")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each loop under hotloop")
    parser.add_argument("--short", type=float, default=1.5, help="of each plain loop")
    parser.add_argument("--pairs", type=int, default=2, help="slow and fixed runs of each program")
    parser.add_argument("--budget", type=float, default=500.0, help="start nothing after this")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    options = parser.parse_args(arguments)
    import torch  # for the forked programs

    with tempfile.TemporaryDirectory() as folder:
        card = _card(Path(folder))
        device = options.device or ("cuda" if card else "cpu")
        runner = Runner(Path(folder), device, options.seconds, options.short)
        results = measure(runner, options)
        title = f"{card or 'no GPU'}, torch {torch.__version__}, Python {sys.version.split()[0]}"
        # Written twice: what was measured is kept if the traces run out of time.
        save(options.out, title, results)
        trace(runner, results, options.budget)
        print(save(options.out, title, results))
    return 1 if any(result.failures for result in results) else 0
