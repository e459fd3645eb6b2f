"""Whether everything in a recording's folder was written by hotloop, so that it may be deleted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hotloop.capture import proofs, slices
from hotloop.capture.lines import SCHEMA as CAPTURE_SCHEMA
from hotloop.capture.schema import Header
from hotloop.experiment import marker, stored

#: The shard that every capture has.
SHARD = "main.jsonl"
#: The page that `hotloop open` writes, and the exact profile of `--functions exact`.
_BESIDE_SHARDS = {proofs.NAME, "report.html", "main.prof"}
_OF_EXPERIMENTS = {stored.NAME, marker.NAME, "plan.toml", "record.md", "report.html"}
#: Copies of the program, and the patches that were tried on them.
_COPIES = {"patched", "scratch"}
_PATCH = re.compile(r"fix-\d+\.patch")
#: The file by which cluster nodes find out that they share a file system.
_TOKEN = re.compile(r"\.hotloop-[0-9a-f]{32}")
_TAIL = re.compile(r"(.+)\.tail-\d+\.jsonl")
#: Bytes of a first line that may be a header; another program's line may be of any length.
_LONGEST_HEADER = 1024 * 1024


def is_capture(folder: Path) -> bool:
    """Whether a folder holds the main shard of a capture."""
    return not folder.is_symlink() and _is_shard(folder / SHARD)


def is_experiment(folder: Path) -> bool:
    """Whether hotloop made a folder for an experiment, finished or not."""
    return marker.read_marker(folder) is not None or has_result(folder)


def has_result(folder: Path) -> bool:
    """Whether a folder holds the result of an experiment of hotloop's."""
    return str(_parsed(folder / stored.NAME).get("schema")).startswith("hotloop.experiment/")


def foreign_entry(folder: Path) -> Path | None:
    """The first entry of a capture or an experiment that hotloop did not write, or must be kept.

    The patch that takes back what `prove --apply` wrote is such an entry: it may be the only copy.
    """
    is_known = _is_of_capture if is_capture(folder) else _is_of_experiment
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            return path
        if path.is_dir():
            if is_known is _is_of_experiment and path.name in _COPIES:
                continue
            found = foreign_entry(path) if is_known is _is_of_experiment else path
            if found is not None:
                return found
        elif not is_known(path):
            return path
    return None


def _is_of_capture(path: Path) -> bool:
    if tail := _TAIL.fullmatch(path.name):
        return _is_shard(path.with_name(f"{tail[1]}.jsonl"))
    if path.suffix == slices.ENDING:
        return _is_shard(path.with_suffix(".jsonl"))
    return path.name in _BESIDE_SHARDS or (path.suffix == ".jsonl" and _is_shard(path))


def _is_of_experiment(path: Path) -> bool:
    name = path.name
    if name in _OF_EXPERIMENTS or _PATCH.fullmatch(name) or _TOKEN.fullmatch(name):
        return True
    if path.suffix in (".log", ".json"):  # a run's output and outcome, next to its capture
        return path.with_suffix("").is_dir() or "identity" in _parsed(path.with_suffix(".json"))
    return _is_in_plan(path)


def _is_in_plan(path: Path) -> bool:
    """Whether this is the copy of a patch that the plan of an investigation names."""
    for folder in path.parents:
        plan = folder / "plan.toml"
        if plan.is_file() and marker.read_marker(folder) is not None:
            text = plan.read_text(encoding="utf-8", errors="replace")
            return path.relative_to(folder).as_posix() in text
    return False


def _is_shard(path: Path) -> bool:
    """Whether a file begins with the header of a shard."""
    try:
        with open(path, "rb") as file:
            header = json_object(file.readline(_LONGEST_HEADER))
    except OSError:
        return False
    return str(header.get(Header.hotloop)).startswith(f"{CAPTURE_SCHEMA}/")


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return json_object(path.read_bytes())
    except OSError:
        return {}


def json_object(text: bytes) -> dict[str, Any]:
    """A JSON object; empty for anything else."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
