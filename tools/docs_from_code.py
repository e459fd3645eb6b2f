"""Fills the parts of the documentation that the code knows: what each rule says, what is hooked.

    python tools/docs_from_code.py           write them
    python tools/docs_from_code.py --check   say whether they are as the code has them

In `docs/*.md`, what stands between `<!-- from code: rule update-ratio -->` and `<!-- end -->` is
what that rule in `src/hotloop/diagnose` says, and between `<!-- from code: library sb3 -->` and its
end the table of that library in `src/hotloop/hooks`. Everything around them is written by people.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hotloop.experiment.fixes import RUN_TIME, envs
from hotloop.experiment.patches import SHAPES
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import read_table
from hotloop.measure.profiler import Profiler

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RULES = ROOT / "src" / "hotloop" / "diagnose"

_PART = re.compile(r"(<!-- from code: (\w+) ([\w:-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WIDTH = 110


@dataclass(frozen=True)
class Rule:
    """What a rule says wherever it speaks; None where that depends on the run."""

    id: str
    fix: str | None
    learning: str | None


@cache
def rules() -> dict[str, Rule]:
    """Every id that a finding may have."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in RULES.rglob("*.py")}
    makers: dict[str, list[str]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = [each.arg for each in [*node.args.args, *node.args.kwonlyargs]]
                if "id" in names and "fix" in names:
                    makers[node.name] = names
    found: dict[str, Rule] = {}
    for _, tree in sorted(trees.items()):
        constants = _constants(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in makers:
                given = dict(zip(makers[node.func.id], node.args, strict=False))
                given |= {word.arg: word.value for word in node.keywords if word.arg}
                id, fix, learning = (
                    _text(given.get(n), constants) for n in ("id", "fix", "learning")
                )
                if id is not None and (id not in found or found[id].fix is None):
                    found[id] = Rule(id, fix, learning)
    return dict(sorted(found.items()))


def _constants(tree: ast.Module) -> dict[str, ast.AST]:
    """What a file's names at module level are set to."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(node: ast.AST | None, constants: dict[str, ast.AST]) -> str | None:
    """A text that is the same in every run."""
    if isinstance(node, ast.Name):
        node = constants.get(node.id)
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and value else None


def rule_part(id: str) -> str:
    """The fix of a rule, and what it does to the learning."""
    rule = rules()[id]
    lines = [f"**Fix.** {rule.fix}"] if rule.fix else []
    if rule.learning:
        lines.append(f"**Learning.** {rule.learning}")
    return "\n\n".join(_wrap(line) for line in lines)


def library_part(name: str) -> str:
    """A library's phases, and the functions that are them."""
    phases: dict[str, list[str]] = {}
    for target in read_table(name, HookContext(Profiler())).targets:
        if target.phase:
            names = phases.setdefault(target.phase, [])
            if target.name not in names:
                names.append(target.name)
    rows = [
        f"| `{phase}` | {', '.join(f'`{n}`' for n in names)} |" for phase, names in phases.items()
    ]
    return "\n".join(["| phase | functions |", "|---|---|", *rows]) if rows else ""


def fixes_part(kind: str) -> str:
    """The fixes that `hotloop prove` tries: those of the run, or patches of the source."""
    lines = ["| finding | fix | effect on learning |", "|---|---|---|"]
    if kind == "patches":
        shapes = {**SHAPES, "per-item-buffer-push": [("batched push", None, "")]}
        rows = [(id, name, learning) for id, each in shapes.items() for name, _, learning in each]
    else:
        rows = [
            (id, fix.how, fix.learning)
            for id, fixes in RUN_TIME.items()
            for fix in (fixes if isinstance(fixes, tuple) else (envs(2),))
        ]
    for id, how, learning in sorted(rows):
        lines.append(f"| `{id}` | {how} | {learning or 'none'} |")
    return "\n".join(lines)


def _wrap(text: str) -> str:
    from textwrap import fill

    return fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def filled(text: str) -> str:
    """A page with its parts as the code has them now."""
    makers = {"rule": rule_part, "library": library_part, "fixes": fixes_part}

    def part(match: re.Match[str]) -> str:
        content = makers[match[2]](match[3])
        return match[1] + (content + "\n" if content else "") + match[4]

    return _PART.sub(part, text)


def marked(kind: str) -> list[str]:
    """The names that the pages have a part of this kind for."""
    pages = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    return [match[3] for match in _PART.finditer(pages) if match[2] == kind]


def main() -> int:
    check = "--check" in sys.argv[1:]
    old = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            old.append(path.name)
            if not check:
                path.write_text(new, encoding="utf-8")
    if old:
        said = "not as the code is; run this without --check" if check else "written"
        print(f"{', '.join(old)}: {said}")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
