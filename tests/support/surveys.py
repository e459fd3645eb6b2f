"""Surveys of machines, made by hand."""

from __future__ import annotations

from hotloop.analyze.doctor import Framework, Survey
from hotloop.capture.schema import LibraryUse

HEALTHY = Survey(
    cores=8,
    memory_bytes=32 << 30,
    memory_available=16 << 30,
    frameworks=[Framework("torch", "2.5", "cpu", threads=8)],
    hooks={"PyTorch": LibraryUse({"version": "2.5", "missing": []})},
)
