"""Import time in words: the statement, the package, and the usual remedy."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass

from hotloop import units
from hotloop.analyze.model import Analysis
from hotloop.analyze.samples.imports import ImportLine, import_lines
from hotloop.report.console.terminal import Style, clean, fit, wrapped
from hotloop.report.words.movable import can_be_moved
from hotloop.report.words.paths import path_from_here
from hotloop.report.words.sampled import unchanged_line

_STATEMENT = re.compile(r"^(?:from|import)\s+([A-Za-z_]\w*)")

#: Packages inside a statement: from this share of its time on, and at most how many.
_LARGE = 0.1
_MOST_PACKAGES = 4

#: Packages that are slow to import, and the usual remedy.
REMEDIES = {
    "tensorflow": "If only TensorBoard or Keras needs it, uninstall it or use tensorboardX.",
    "keras": "Unless the program uses TensorFlow itself, KERAS_BACKEND=torch or jax avoids "
    "importing that.",
}
#: The same if only functions of the file use the package.
MOVES = {
    "keras": "Import it where it is used.",
    "transformers": "Import it inside the functions that use it.",
    "matplotlib": "Import it inside the function that draws.",
    "pandas": "Import it inside the functions that load data.",
    "scipy": "Import the submodule that is used, inside the function that uses it.",
    "sklearn": "Import it inside the functions that use it.",
    "ray": "Import it inside the function that starts the cluster.",
    "wandb": "Import it after the arguments are parsed.",
    "pygame": "Import it only where something is drawn.",
    "cv2": "Import it only where frames are processed.",
}
#: Packages that import TensorBoard, which imports TensorFlow if that is installed.
_USE_TENSORBOARD = ("stable_baselines3", "sb3_contrib", "tianshou", "tensorboard")


@dataclass(frozen=True)
class ImportRow:
    """One import statement as a report shows it."""

    statement: str
    package: str
    place: str
    seconds: float
    share: float
    remedy: str
    #: Time by package: "torch 1.70 s, sympy 210 ms".
    inside: str


def import_rows(analysis: Analysis) -> list[ImportRow]:
    """The import statements that took the longest."""
    rows = []
    for each in import_lines(analysis):
        statement = unchanged_line(analysis, each.file, each.line)
        match = _STATEMENT.match(statement)
        package = match[1] if match else ""
        place = f"{path_from_here(each.file)}:{each.line}"
        remedy = _remedy(analysis, package, statement, each)
        inside = _inside(each, package)
        rows.append(ImportRow(statement, package, place, each.seconds, each.share, remedy, inside))
    return rows


def _inside(line: ImportLine, package: str) -> str:
    """The packages that took the time, unless the statement's own took all of it."""
    large = [item for item in line.packages if item[1] >= _LARGE * line.seconds][:_MOST_PACKAGES]
    if [name for name, _ in large] == [package]:
        return ""
    return ", ".join(f"{clean(name)} {units.seconds(seconds)}" for name, seconds in large)


def _remedy(analysis: Analysis, package: str, statement: str, at: ImportLine) -> str:
    uses = package in _USE_TENSORBOARD or "tensorboard" in statement
    if uses and "TensorFlow" in analysis.notes.libraries:
        return (
            "It imports TensorBoard, which imports TensorFlow where that is installed. "
            "If nothing else needs TensorFlow, uninstall it."
        )
    move = MOVES.get(package, "")
    if move and not can_be_moved("".join(linecache.getlines(at.file)), at.line):
        move = ""
    return " ".join(filter(None, [move, REMEDIES.get(package, "")]))


def import_table(analysis: Analysis, style: Style) -> str:
    """The same as lines of a terminal; empty if little was imported."""
    lines = []
    for row in import_rows(analysis):
        left = f"  {units.seconds(row.seconds):>7} {units.percent(row.share):>6}  "
        words = f"{row.statement}  {row.place}" if row.statement else row.place
        lines.append((left + fit(clean(words), style.width - len(left))).rstrip())
        if row.inside:
            lines.append(wrapped(row.inside, style, "dim", indent=len(left)))
        if row.remedy:
            lines.append(wrapped(row.remedy, style, "dim", indent=len(left)))
    return "\n".join([style.paint("Imports", "bold"), *lines]) if lines else ""
