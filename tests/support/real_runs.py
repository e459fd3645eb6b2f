"""A loop in a real process, and the report of its capture."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

Hotloop = Callable[..., "subprocess.CompletedProcess[str]"]


LOOP = """
import sys, time
from hotloop import profile, count, step

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def train(iterations):
    try:
        for i in range(iterations):
            with profile("collect"):
                with profile("env.step"):
                    busy(0.004)
                count("env_steps", 2)
                count("episodes")
            with profile("learn"):
                busy(0.002)
            step()
    finally:
        print("finally ran")
"""


def report(hotloop: Hotloop, folder: str = "cap") -> dict[str, Any]:
    done = hotloop("report", folder, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def check_refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    """A mistake ends with exit code 2 and a message, never with a traceback."""
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
