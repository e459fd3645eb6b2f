"""Functions on a terminal: whose they are, and what is left out where there is no room."""

from __future__ import annotations

from dataclasses import replace

from small_analyses import analysis

from hotloop.analyze.model import Analysis, Function
from hotloop.capture.schema import Notes
from hotloop.report import markdown
from hotloop.report.console.function_tables import exact_functions, hot_functions, unidentified_code
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report
from hotloop.report.view import View

ROW = Function("", "/p/a.py", "compress", 1, "main", 4.0, 4.0, 0.4, 80, 0.1, 0.9, 0.0, True)


def shown(analysis: Analysis, width: int = 100, process: str = "main") -> str:
    return hot_functions(analysis, Style(width), View(process=process))


def test_functions_of_other_threads_follow_those_of_the_main_thread() -> None:
    seen = analysis()
    row = ROW
    seen.functions = [replace(row, function="train", share=0.9)]
    seen.thread_functions = [row]
    text = text_report(make_report(seen, []), Style())
    assert text.index("Hot functions, by") < text.index("Hot functions of other threads")
    assert "40.0%" in text.split("Hot functions of other threads")[1].partition("compress")[0]
    assert "## Hot functions of other threads" in markdown.render(make_report(seen, []))
    seen.thread_functions = [replace(row, share=0.02)]
    assert "of other threads" not in text_report(make_report(seen, []), Style())


def test_a_long_line_loses_the_librarys_place_first_and_its_name_last() -> None:
    seen = analysis()
    library = "/lib/site-packages/some/package/module.py"
    seen.functions = [replace(ROW, file=library, hot_line=7, from_file="/p/train.py", from_line=3)]
    wide, narrow = shown(seen, 120), shown(seen, 80)
    assert "package/module.py:7, from p/train.py:3" in wide
    assert "module.py" not in narrow
    assert "from p/train.py:3" in narrow
    assert "native 90%" in narrow
    seen.functions = [replace(seen.functions[0], function="f" * 99)]
    assert "…" in shown(seen, 80)


def test_functions_are_those_of_the_process_and_worth_a_line() -> None:
    seen = analysis()
    seen.functions = [replace(ROW, process="EnvWorker-1"), replace(ROW, share=0.001)]
    assert shown(seen) == ""
    assert "Hot functions of EnvWorker-1" in shown(seen, process="EnvWorker-1")


def test_without_a_profile_there_are_no_exact_functions() -> None:
    assert exact_functions(analysis(), Style(), View()) == ""


def test_places_that_do_not_fit_are_counted() -> None:
    gap = "between step and act"
    seen = analysis(gap)
    gaps = {gap: ["/p/a.py:101-108 main", "/p/a.py:90-95 choose", "/p/a.py:2-3 f"]}
    seen.notes = Notes({"gap_lines": gaps})
    text = unidentified_code(seen, Style(80))
    assert "a.py:101-108 main" in text
    assert text.endswith(" more")
    assert "…" not in text
    wide = unidentified_code(seen, Style(140))
    assert "choose, " in wide
    assert "more" not in wide
