"""The import graph of the package: which room may import which.

A room is a folder of ``hotloop``, or a module that stands directly in it. An edge that is not stated here fails.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import hotloop

PACKAGE = Path(hotloop.__file__).parent

# Small modules without state that every room may use.
COMMON = {"errors", "histogram", "masking", "phases", "units"}

ALLOWED = {
    "capture": set[str](),
    "measure": {"capture"},
    # `--slow` also slows the program's own `with hotloop.profile(...)` blocks: it wraps the front.
    "hooks": {"measure", "capture.schema", "hotloop"},
    "run": {"measure", "hooks", "capture", "__version__"},
    "analyze": {"capture"},
    "diagnose": {"analyze", "capture.schema", "capture.proofs"},
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


def edges() -> Iterator[tuple[str, str, str]]:
    """Yield every import between two rooms: the room, the name that it imports, and a line that says so."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        room = module.parts[0].removesuffix(".py")
        for name in imports(path):
            if name.split(".")[0] != room:
                yield room, name, f"{module} imports {name}"


def permits(rules: set[str], name: str) -> bool:
    return any(name == rule or name.startswith(f"{rule}.") for rule in rules)


def test_rooms_import_only_what_they_may() -> None:
    broken = [
        line for room, name, line in edges() if not permits(ALLOWED.get(room, set()) | COMMON, name)
    ]
    assert not broken, "\n".join(broken)


def test_every_import_that_is_allowed_is_used() -> None:
    used: dict[str, set[str]] = {}
    for room, name, _ in edges():
        used.setdefault(room, set()).add(name)
    unused = [
        f"{room} does not import {rule}"
        for room, rules in ALLOWED.items()
        for rule in sorted(rules)
        if not any(permits({rule}, name) for name in used.get(room, ()))
    ]
    assert not unused, "\n".join(unused)
