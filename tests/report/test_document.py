"""The JSON document of a report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from small_analyses import analysis, finding

from hotloop.report.document import make_report, report_document


def test_the_document_has_every_name_of_the_schema() -> None:
    document = json.loads(json.dumps(report_document(make_report(analysis(), [finding()]))))
    assert document["schema"] == "hotloop.report/2"
    assert {
        "command", "wall_s", "loop_s", "env_steps", "episodes", "gradient_steps", "steps_per_s",
        "device", "processes",
    } <= set(document["run"])  # fmt: skip
    assert {"region_ns", "regions", "share", "corrected"} <= set(document["overhead"])
    assert {
        "path", "name", "category", "process", "calls", "total_s", "self_s", "share", "mean_s",
        "min_s", "max_s", "p50_s", "p95_s", "p99_s", "cpu_peak_mb", "gpu_peak_mb", "score",
    } <= set(document["phases"][0])  # fmt: skip
    assert {
        "id", "severity", "title", "phase", "where", "evidence", "gain", "ceiling", "measured_gain",
        "confidence", "fix", "diff", "verify",
    } <= set(document["findings"][0])  # fmt: skip
    assert {"sentence", "unexplained_by_rules", "machine", "enough_data"} <= set(
        document["verdict"]
    )
    shares = [document[name] for name in ("explained", "inferred", "unexplained")]
    assert sum(shares) == pytest.approx(1.0)
    assert sum(document["categories"].values()) == pytest.approx(0.9, abs=0.01)


def test_workers_that_failed_are_named() -> None:
    seen = analysis()
    workers = [replace(seen.processes[0], name=f"w{i}", exit_code=i % 2) for i in range(4)]
    seen.processes += workers
    assert make_report(seen, []).ending.startswith("`w1`, `w3` failed (exit code 1)")
    seen.processes[1:] = [replace(worker, exit_code=0) for worker in workers]
    assert "failed" not in make_report(seen, []).ending
