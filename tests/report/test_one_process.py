"""`--process`: phases, functions, limits and headline of one process, on every surface."""

from __future__ import annotations

import json
from dataclasses import replace

from small_analyses import analysis

from hotloop.analyze.bounds import Bound
from hotloop.analyze.model import Function
from hotloop.report import markdown
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report
from hotloop.report.output import render
from hotloop.report.view import View


def test_every_surface_follows_the_selected_process() -> None:
    seen = analysis()
    worker = Function("", "/p/a.py", "simulate", 1, "w-0", 4.0, 4.0, 0.4, 80, 0.9, 0.1, 0.0, True)
    seen.functions = [*seen.functions, worker]
    seen.phases = [*seen.phases, replace(seen.phases[0], process="w-0")]
    seen.process_bounds = {"w-0": Bound(python=0.6, cores=0.4)}
    report, view = make_report(seen, []), View(process="w-0")
    document = json.loads(str(render("json", report, view)))
    assert {row["process"] for row in document["functions"] + document["phases"]} == {"w-0"}
    assert document["bounds"]["whole"]["python"] == 0.6
    assert document["verdict"]["headline"].startswith("w-0, a process of the run")
    for text in (text_report(report, Style(), view), markdown.render(report, view)):
        said = " ".join(text.split())
        assert said.index("`w-0` waited for a CPU core 40%") < said.index("w-0, a process")
        assert "host Python 60%" in said
        assert "simulate" in said
