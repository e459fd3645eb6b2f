"""Labels that a name gives and the code takes back."""

from __future__ import annotations

from profiling import Profile

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import read_capture

WRITER = """
import torch

class Writer:
    def __init__(self):
        self.net, self.lines = torch.nn.Linear(4, 4), []

    def write(self, x):
        {body}

writer = Writer()
for _ in range(20):
    writer.write(torch.zeros(1, 4))
print("done")
"""


def test_a_writer_that_runs_a_network_logs_nothing(profile: Profile) -> None:
    run = profile(WRITER.format(body="return self.net(x).argmax()"))
    assert run.calls("log") <= 1
    assert run.capture is not None
    assert analyze(read_capture(run.capture)).notes.shapes.get("log", []) == []


def test_a_writer_that_writes_logs(profile: Profile) -> None:
    run = profile(WRITER.format(body="self.lines.append(str(x))"))
    assert run.calls("log") == 20
