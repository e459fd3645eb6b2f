"""The import graph of the package: which room may import which.

A room is a folder of ``hotloop``, or a module that stands directly in it. An edge that is not stated here fails.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hotloop

PACKAGE = Path(hotloop.__file__).parent

# Small modules without state that every room may use.
COMMON = {"error_output", "errors", "histogram", "masking", "phases", "sources", "units"}

ALLOWED = {
    "capture": set[str](),
    "measure": {"capture"},
    # `--slow` also slows the program's own `with hotloop.profile(...)` blocks: it wraps the front.
    "hooks": {"measure", "capture.schema", "hotloop"},
    "run": {"measure", "hooks", "capture", "__version__"},
    "analyze": {"capture"},
    "diagnose": {"analyze", "capture.schema", "capture.proofs", "capture.strictness"},
    "report": {"analyze", "diagnose", "capture.schema", "capture.proofs"},
    "experiment": {"run", "analyze", "diagnose", "capture"},
    "integrations": {
        *("run", "analyze", "diagnose", "report", "capture"),
        # The learning curves of the program are written from inside it.
        *("measure.profiler", "hooks.install", "get_profiler"),
    },
    "cli": {
        *(
            "run",
            "measure",
            "capture",
            "analyze",
            "diagnose",
            "report",
            "experiment",
            "integrations",
        ),
        "__version__",
    },
    "bootstrap": {"run"},
    "__main__": {"cli"},
    # The package's own front: the profiler for a program's code, and the notebook extension.
    "__init__": {"measure", "integrations"},
}

#: The same between the folders of `hooks`; files directly in it put them together.
ALLOWED_IN_HOOKS = {
    "compat": {"context", "install", "protocols", "redirect"},
    "devices": {"context", "protocols", "wrapping"},
    "fixes": {"context", "protocols", "redirect"},
    "inference": {"context", "protocols", "redirect", "program", "telemetry.attributes"},
    "libraries": {
        *("context", "library", "protocols", "redirect", "wrapping"),
        *("inference", "program.vocabulary", "telemetry.transfers"),
    },
    "program": {
        *("context", "install", "protocols", "redirect", "wrapping", "LIBRARIES"),
        "inference",
    },
    "telemetry": {
        *("context", "protocols", "redirect", "wrapping", "inference", "program.files"),
    },
}

#: The same in `analyze`, from samples to comparisons, and in `report`, from words to pages.
ALLOWED_IN_ANALYZE = {
    "samples": {"model", "renamed"},
    "stretches": {"correction", "samples"},
    "processes": {"model", "renamed", "samples", "stretches", "sums", "timeline"},
    "over_time": {"correction", "model", "processes", "sums", "timeline"},
    "comparing": {"model", "over_time", "processes", "sums"},
}
ALLOWED_IN_REPORT = {
    "words": {"console.terminal"},
    "console": {"document", "one_process", "view", "words"},
    "export": {"console.terminal", "document", "view"},
    "html": {"console", "document", "palette", "plain_data", "view", "words"},
    "results": {"console", "figures", "html", "markdown", "palette", "plain_data", "words"},
}

#: Folder of the package -> what its own folders may import of each other.
ALLOWED_INSIDE = {
    "hooks": ALLOWED_IN_HOOKS,
    "analyze": ALLOWED_IN_ANALYZE,
    "report": ALLOWED_IN_REPORT,
}


def imports(path: Path) -> Iterator[str]:
    """Yield what a module imports of the package, as dotted names below it."""
    package = ("hotloop", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join(part for part in (*above, node.module) if part)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "hotloop" or name.startswith("hotloop."):
                yield name.removeprefix("hotloop.")


def edges(house: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield every import between two rooms: the room, the name that it imports, and a line that says so."""
    prefix = f"{house}." if house else ""
    for path in sorted((PACKAGE / house).rglob("*.py")):
        module = path.relative_to(PACKAGE / house)
        room = module.parts[0].removesuffix(".py")
        for whole in imports(path):
            name = whole.removeprefix(prefix)
            if whole.startswith(prefix) and name.split(".")[0] != room:
                yield room, name, f"{module} imports {name}"


def permits(rules: set[str], name: str) -> bool:
    return any(name == rule or name.startswith(f"{rule}.") for rule in rules)


def test_rooms_import_only_what_they_may() -> None:
    broken = [
        line for room, name, line in edges() if not permits(ALLOWED.get(room, set()) | COMMON, name)
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("house", ALLOWED_INSIDE)
def test_folders_inside_a_room_import_only_what_they_may(house: str) -> None:
    rules = ALLOWED_INSIDE[house]
    broken = [
        line
        for room, name, line in edges(house)
        if room in rules and not permits(rules[room], name)
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(("house", "rules"), [("", ALLOWED), *ALLOWED_INSIDE.items()])
def test_every_import_that_is_allowed_is_used(house: str, rules: dict[str, set[str]]) -> None:
    used: dict[str, set[str]] = {}
    for room, name, _ in edges(house):
        used.setdefault(room, set()).add(name)
    unused = [
        f"{room} does not import {rule}"
        for room, allowed in rules.items()
        for rule in sorted(allowed)
        if not any(permits({rule}, name) for name in used.get(room, ()))
    ]
    assert not unused, "\n".join(unused)
