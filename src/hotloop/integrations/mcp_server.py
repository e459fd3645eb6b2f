"""An MCP server: a coding assistant asks why training is slow and gets measurements.

Each of the four tools runs one command of hotloop in a separate process, so that a program's output
never mixes with the protocol. Results are short, because an assistant pays for every word it reads.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotloop.errors import HotloopError

#: Findings and phases in a result, and the share of the loop that a phase has at least.
MOST_FINDINGS, MOST_PHASES = 5, 8
LEAST_SHARE = 0.01
#: Lines of a failed command's output that a result quotes.
MOST_LINES = 12
#: How often to look whether the client is still there.
LOOK_S = 1.0

INSTRUCTIONS = (
    "Finds out why reinforcement-learning training is slow. Call `run` with the training command, "
    "read its findings, then `prove` on the capture: it tries the fixes and returns measured "
    "speedups. Predicted gains are estimates; quote `measured` ones."
)


def serve(version: str) -> None:
    """Speak MCP on standard input and output until the client leaves."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise HotloopError("`hotloop mcp` needs the MCP SDK: pip install 'hotloop[mcp]'") from None
    server = MCPServer("hotloop", version=version, instructions=INSTRUCTIONS)
    for tool in (run, report, prove, compare):
        server.tool()(_with_readable_errors(tool, ToolError))
    server.run("stdio")


def _with_readable_errors(tool: Callable[..., dict[str, Any]], error_type: type[Exception]) -> Any:
    """The tool, whose failures the client may read; others the SDK keeps to itself."""

    @functools.wraps(tool)
    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except (RuntimeError, ValueError, OSError) as error:
            raise error_type(str(error)) from None

    return call


def run(command: str, stop_after: str = "60s", folder: str = ".") -> dict[str, Any]:
    """Run a training program and record where its time goes.

    command: as after `python`, such as "train.py --seed 1" or "-m package". stop_after: when to
    end it, such as "60s" or "5000steps". folder: where to run it. Returns the capture's folder,
    throughput, phases and findings.
    """
    before = set(_captures(Path(folder)))
    _hotloop(["run", "-q", "--stop-after", stop_after, "--", *shlex.split(command)], folder)
    new = sorted(set(_captures(Path(folder))) - before)
    if not new:
        raise RuntimeError("the run left no capture")
    return report(str(new[-1]))


def report(capture: str = "") -> dict[str, Any]:
    """Where the time of a recorded run went, and what to change, the largest gain first.

    capture: its folder (default: the newest).
    """
    capture = capture or _newest()
    document = json.loads(_hotloop(["report", capture, "--format", "json"]))
    run = document["run"]
    phases = [
        each
        for each in document["phases"]
        if each["process"] == "main" and each["thread"] == "main" and each["share"] >= LEAST_SHARE
    ]
    phases.sort(key=lambda each: -each["self_s"])
    rates = ("steps_per_s", "gradient_steps_per_s", "return_last")
    return {
        "capture": capture,
        "verdict": document["verdict"]["sentence"],
        **{name: round(run[name], 1) for name in rates if run[name]},
        "loop_s": round(run["loop_s"], 1),
        "phases": {each["path"]: f"{each['share']:.0%}" for each in phases[:MOST_PHASES]},
        "findings": [_finding(each) for each in document["findings"][:MOST_FINDINGS]],
    }


def prove(
    capture: str = "", budget: str = "5m", allow_learning_changes: bool = False
) -> dict[str, Any]:
    """Try the fix of each finding of a capture as interleaved runs; takes as long as the budget.

    capture: its folder (default: the newest). No file of the program changes.
    allow_learning_changes also tries fixes that change how the agent learns. Returns each fix with
    its measured speedup, whether weights stayed the same, and a diff where the fix is a change of
    the program's own lines.
    """
    options = ["--allow-learning-changes"] if allow_learning_changes else []
    document = json.loads(
        _hotloop(["prove", capture or _newest(), "--budget", budget, "--format", "json", *options])
    )
    tried = [_tried(each) for each in document["tried"]]
    together = document["together"]
    return {"tried": tried, "together": _tried(together) if together else None}


def compare(first: str, second: str, steps: int = 5000, folder: str = ".") -> dict[str, Any]:
    """Measure whether the second of two training commands is faster, in interleaved pairs.

    Each is a command as after `python`. Returns the verdict and how many times faster the second
    is: the estimate with its interval, and the phase in which most of the change is.
    """
    words = ["compare", first, second, "--steps", str(steps), "--format", "json"]
    return _compared(json.loads(_hotloop(words, folder)))


def _newest() -> str:
    """The newest capture below the server's folder."""
    found = sorted(_captures(Path()), key=os.path.getmtime)
    if not found:
        raise RuntimeError("there is no capture yet; call run first")
    return str(found[-1])


def _compared(document: dict[str, Any]) -> dict[str, Any]:
    ratio = {name: value and round(value, 3) for name, value in document["ratio"].items()}
    return {
        "verdict": document["verdict"],
        "headline": document["headline"],
        "times_faster": ratio,
        "phase": document["responsible"],
        "pairs": document["pairs"],
    }


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    gain, where = finding["gain"], finding["where"]
    short = {
        "id": finding["id"],
        "severity": finding["severity"],
        "title": finding["title"],
        "predicted": [round(gain["low"], 2), round(gain["high"], 2)],
        "measured": finding["measured_gain"],
        "at": f"{where[0]['file']}:{where[0]['line']}" if where else None,
        "fix": finding["fix"],
    }
    return {name: value for name, value in short.items() if value is not None}


def _tried(tried: dict[str, Any]) -> dict[str, Any]:
    short = {
        "finding": tried["finding"],
        "fix": tried["fix"],
        "verdict": tried["verdict"],
        "measured": round(tried["gain"], 2) if tried["gain"] else None,
        "interval": [round(tried["low"], 2), round(tried["high"], 2)] if tried["low"] else None,
        "weights": tried["weights"],
        "return_before": tried["return_before"],
        "return_after": tried["return_after"],
        "learning": tried["learning"],
        "how": tried["how"],
        "why": tried["why"],
        "diff": tried["diff"],
    }
    return {name: value for name, value in short.items() if value}


def _captures(folder: Path) -> list[Path]:
    return [path.parent for path in folder.absolute().glob("runs/hotloop/*/main.jsonl")]


def _hotloop(words: list[str], folder: str = ".") -> str:
    """The output of a command of hotloop; an error quotes its last lines.

    A command takes minutes: it ends with the client, which may leave before its answer.
    """
    client = os.getppid()
    process = subprocess.Popen(
        [sys.executable, "-m", "hotloop", *words], cwd=folder, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while True:
        try:
            output, errors = process.communicate(timeout=LOOK_S)
            break
        except subprocess.TimeoutExpired:
            if os.getppid() != client:
                process.terminate()
    if process.returncode != 0:
        last = "\n".join(errors.splitlines()[-MOST_LINES:])
        code = process.returncode
        raise RuntimeError(f"hotloop {words[0]} failed with exit code {code}:\n{last}")
    return output
