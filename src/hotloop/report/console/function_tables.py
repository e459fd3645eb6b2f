"""Functions on a terminal: sampled with their source lines, or timed exactly."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.accounting import unidentified
from hotloop.analyze.kind import span_of
from hotloop.analyze.model import Analysis, Function
from hotloop.phases import NO_PHASE_LABEL, name_at
from hotloop.report.console.terminal import Style, clean, fit, fit_phase
from hotloop.report.view import View
from hotloop.report.words.paths import path_from_here
from hotloop.report.words.sampled import (
    callers_words,
    functions_of,
    place_words,
    short_lines,
    source_line,
    states_words,
    thread_functions_of,
)

#: Columns of a phase's name, and of two events.
_PHASE = 19
_GAP = 32
#: Gaps to list: from this share of the loop on, and at most how many.
_SMALLEST_LISTED = 0.01
_MOST_LISTED = 6


def unidentified_code(analysis: Analysis, style: Style) -> str:
    """Code between two events of the loop that nothing identifies, with its lines."""
    found = unidentified(analysis, _SMALLEST_LISTED)
    if not found:
        return ""
    lines = [style.paint("Unidentified code (name it with --phase)", "bold")]
    for each in found[:_MOST_LISTED]:
        left = f"  {units.percent(each.share):>6}  {fit_phase(clean(each.name), _GAP)}  "
        places = [clean(short_lines(line)) for line in each.lines]
        lines.append(left + _as_fit(places, style.width - len(left)))
    return "\n".join(lines)


def _as_fit(places: list[str], room: int) -> str:
    """As many places as fit in a row, and how many more there are."""
    for shown in range(len(places), 0, -1):
        more = f" and {len(places) - shown} more" if shown < len(places) else ""
        text = ", ".join(places[:shown]) + more
        if len(text) <= room:
            return text
    return fit(places[0], room).rstrip() if places else "lines unknown"


def hot_functions(analysis: Analysis, style: Style, view: View) -> str:
    """Sampled functions by their own time; empty if nothing was sampled."""
    process = "main" if view.process == "all" else view.process
    functions = functions_of(analysis, [process])[: view.top]
    if not functions:
        return ""
    whose = "" if process == "main" else f" of {clean(process)}"
    title = f"Hot functions{whose}, by their own time in the {span_of(analysis)} (sampled)"
    lines = [style.paint(title, "bold"), *(_line(each, style) for each in functions)]
    source = source_line(analysis, functions[0])
    if source:
        indent = " " * (len("  100.0%  ") + _PHASE + 2)
        quoted = fit(indent + clean(source), style.width).rstrip()
        lines.insert(2, style.paint(quoted, "dim"))
    return "\n".join(lines)


def thread_functions(analysis: Analysis, style: Style, view: View) -> str:
    """Functions of other threads of the main process; empty if they only waited."""
    known = thread_functions_of(analysis)
    if not known:
        return ""
    title = "Hot functions of other threads, by the time they ran (sampled)"
    lines = (_line(each, style) for each in known[: view.top])
    return "\n".join([style.paint(title, "bold"), *lines])


def _line(function: Function, style: Style) -> str:
    phase = name_at(function.phase) or NO_PHASE_LABEL
    left = f"  {units.percent(function.share):>6}  {fit_phase(clean(phase), _PHASE)}  "
    name, state = _name_and_state(function, style.width - len(left))
    return (left + name + style.paint(state, "dim")).rstrip()


def _name_and_state(function: Function, room: int) -> tuple[str, str]:
    """A function with its lines and its state, within a width.

    Where that is too long, the library's own line is left out first, then the state; names last.
    """
    name, state = clean(function.function), states_words(function)
    called = f"  {callers_words(function)}"
    whole = f"{name}  {clean(place_words(function))}"
    short = name + clean(called) if function.from_file else whole
    for words, behind in ((whole, state), (short, state), (short, ""), (name, "")):
        if len(words) + len(behind) + 1 <= room:
            return words.ljust(room - len(behind)), behind
    return fit(name, room), ""


def exact_functions(analysis: Analysis, style: Style, view: View) -> str:
    if not analysis.exact_functions:
        return ""
    lines = [style.paint("Functions by cumulative time (exact; see main.prof)", "bold")]
    lines.append(style.paint(f"  {'total':>9} {'self':>9} {'calls':>11}  function", "dim"))
    for row in analysis.exact_functions[: view.top]:
        place = clean(f"{row.function}  {path_from_here(row.file)}:{row.line}")
        cells = f"  {units.seconds(row.total_s):>9}"
        cells += f" {units.seconds(row.self_s):>9}"
        cells += f" {units.count(row.calls):>11}  "
        lines.append((cells + fit(place, style.width - len(cells))).rstrip())
    return "\n".join(lines)
