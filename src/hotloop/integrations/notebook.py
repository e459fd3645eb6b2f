"""Notebooks: `%load_ext hotloop`, then `%%hotloop` above a cell; the report is shown below it.

    %%hotloop
    model.learn(10_000)

Libraries and classes of earlier cells are hooked only while the cell runs. Its names, output and
exceptions are the same as without the first line.
"""

from __future__ import annotations

import argparse
import ast
import html
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotloop.errors import HotloopError
from hotloop.integrations.recording import Recording

NAME = "hotloop"

#: Height of the report below a cell, in pixels: about a screen, and it scrolls.
HEIGHT = 620


class CellReport:
    """A capture's report, in whatever way a front end can show it."""

    def __init__(self, folder: Path, text_only: bool = False) -> None:
        from hotloop.report.document import report_of

        self.folder = folder
        self._text_only = text_only
        self._report = report_of(folder)

    def __repr__(self) -> str:
        return self._render("text") + f"\nNext: hotloop open {self.folder}"

    def _repr_html_(self) -> str | None:
        if self._text_only:
            return None
        # A sandboxed frame: the page and the notebook cannot access each other.
        page = html.escape(self._render("html"), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="hotloop report" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )

    def _render(self, form: str) -> str:
        from hotloop.report.output import render

        return str(render(form, self._report))


def load(shell: Any) -> None:
    """Register the magics with a shell."""
    shell.register_magic_function(_magic(shell), magic_kind="line_cell", magic_name=NAME)


def unload(shell: Any) -> None:
    """Unregister them."""
    for magics in shell.magics_manager.magics.values():
        magics.pop(NAME, None)


def _magic(shell: Any) -> Callable[..., Any]:
    def hotloop(line: str, cell: str | None = None) -> Any:
        """Run a cell (or a line) and show where its time went.

        %%hotloop [-o FOLDER] [--name NAME] [--phase PHASE=MODULE:NAME] [--scalars] [--text]
        %hotloop statement
        """
        __tracebackhide__ = True
        try:
            options = _parse(line if cell is not None else "")
            recording = Recording(
                options.output,
                name=options.name,
                phases=options.phase,
                scalars=options.scalars,
                quiet=True,
                command=["%%hotloop" if cell is not None else "%hotloop"],
                root_code=_run.__code__,
            ).begin()
        except HotloopError as error:
            print(f"hotloop: {error}", file=sys.stderr)
            return None
        is_ours = recording.is_on
        try:
            with recording:
                return _run(shell, line if cell is None else cell, recording)
        finally:
            if is_ours and recording.folder is not None:
                _show(recording.folder, options.text)

    return hotloop


class _MagicParser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise HotloopError(f"%%{NAME}: {message}")


def _parse(line: str) -> argparse.Namespace:
    parser = _MagicParser(prog=f"%%{NAME}", add_help=False, allow_abbrev=False)
    parser.add_argument("-o", "--output", metavar="FOLDER")
    parser.add_argument("--name", default="notebook")
    parser.add_argument("--phase", action="append", default=[])
    parser.add_argument("--scalars", action="store_true")
    parser.add_argument("--text", action="store_true")
    return parser.parse_args(shlex.split(line))


def _run(shell: Any, source: str, recording: Recording) -> Any:
    """Run a cell as the shell would; the value of its last expression is its result."""
    __tracebackhide__ = True
    code = shell.transform_cell(source)
    # So that tracebacks and samples can show its lines.
    name = shell.compile.cache(code, shell.execution_count, raw_code=source)
    tree = shell.transform_ast(shell.compile.ast_parse(code, filename=name))
    own_code = recording.session.attached.own_code if recording.session is not None else None
    value = None
    for node in tree.body:
        value = None
        # A last line that ends with a semicolon shows nothing, as usual.
        if node is tree.body[-1] and isinstance(node, ast.Expr) and not code.rstrip().endswith(";"):
            value = eval(shell.compile(ast.Expression(node.value), name, "eval"), shell.user_ns)
        else:
            exec(shell.compile(ast.Module([node], []), name, "exec"), shell.user_ns)
        if own_code is not None:
            own_code.inspect_main()  # what this statement has defined
    return value


def _show(folder: Path, text_only: bool) -> None:
    from IPython import display

    try:
        display.display(  # type: ignore[no-untyped-call]
            CellReport(folder, text_only)
        )
    except HotloopError as error:
        print(f"hotloop: {error}", file=sys.stderr)
