"""Stores the result of an experiment in its folder, and reads it to render it again."""

from __future__ import annotations

import json
import types
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from hotloop.analyze.comparing.experiments import Investigation, PairedResult, Result, Sweep
from hotloop.capture import private
from hotloop.errors import HotloopError

SCHEMA = "hotloop.experiment/1"
NAME = "result.json"

KINDS: dict[str, type[Result]] = {
    "compare": PairedResult,
    "sweep": Sweep,
    "investigate": Investigation,
}


def store(result: Result) -> None:
    """Keep a result in its experiment's folder."""
    kind = next(name for name, each in KINDS.items() if type(result) is each)
    document = {"schema": SCHEMA, "kind": kind, "result": asdict(result)}
    private.write_text(Path(result.folder) / NAME, json.dumps(document) + "\n")


def is_stored(folder: Path) -> bool:
    """Whether a folder is that of an experiment with a result."""
    return (folder / NAME).is_file()


def load(folder: Path) -> Result:
    """The result in an experiment's folder."""
    path = folder / NAME
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _decoded(KINDS[document["kind"]], document["result"])  # type: ignore[no-any-return]
    except OSError as error:
        raise HotloopError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HotloopError(f"{path}: not a result of an experiment ({error})") from None


def _decoded(kind: Any, value: Any) -> Any:
    """Decode JSON into its type: dataclasses, lists, tuples, dictionaries and plain values."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        known = {each.name for each in fields(kind)}
        return kind(
            **{name: _decoded(hints[name], v) for name, v in value.items() if name in known}
        )
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _decoded(next(each for each in inner if each is not type(None)), value)
    if origin is list:
        return [_decoded(inner[0], each) for each in value]
    if origin is dict:
        return {key: _decoded(inner[1], each) for key, each in value.items()}
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_decoded(each, v) for each, v in zip(kinds, value, strict=True))
    return value
