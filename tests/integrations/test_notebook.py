"""`%%hotloop` in a real kernel, and in a shell without HTML."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")

pytestmark = pytest.mark.programs

DOCUMENT = Path(__file__).parents[2] / "docs" / "integrations.md"


def documented_cells() -> list[str]:
    text = DOCUMENT.read_text().partition("<!-- runs: notebook -->")[2].partition("\n\n|")[0]
    return re.findall(r"```ipython\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The documented cells and some more, run by a real kernel."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp("notebook")
    more = [
        "type(env).step.__qualname__, hasattr(Corridor.step, '__wrapped__')",
        "%%hotloop --name again --text\ndef helper():\n    return 'new'\nresult = helper()\nresult",
        "%%hotloop --name failing\nseen = 1\nraise ValueError('of the program')",
        "seen, helper()",
        "%%hotloop --color red\nnever = 1",
        "'never' in globals()",
        "%unload_ext hotloop",
    ]
    document = nbformat.v4.new_notebook()
    document.cells = [nbformat.v4.new_code_cell(source) for source in [*documented_cells(), *more]]
    client = nbclient.NotebookClient(
        document,
        timeout=120,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    document.folder = str(folder)
    return document


def outputs(cell: Any, kind: str) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == kind]


def test_the_report_is_below_the_cell(notebook: Any) -> None:
    shown = outputs(notebook.cells[2], "display_data")
    assert len(shown) == 1, notebook.cells[2].outputs
    data = shown[0].data
    assert data["text/html"].startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts"' in data["text/html"]
    assert "20,000 steps" in data["text/plain"]
    assert "400 episodes" in data["text/plain"]
    # The class is of an earlier cell, and known by its shape.
    assert "env.step (by shape)" in data["text/plain"]
    captures = {
        path.name.partition("-")[0] for path in Path(notebook.folder, "runs/hotloop").iterdir()
    }
    assert captures == {"notebook", "again", "failing"}


def test_everything_is_off_again(notebook: Any) -> None:
    (result,) = outputs(notebook.cells[3], "execute_result")
    assert result.data["text/plain"] == "('Corridor.step', False)"


def test_names_and_results_are_the_cells_own(notebook: Any) -> None:
    cell = notebook.cells[4]
    (result,) = outputs(cell, "execute_result")
    assert result.data["text/plain"] == "'new'"
    (shown,) = outputs(cell, "display_data")
    assert "text/html" not in shown.data


def test_an_exception_is_the_cells_own(notebook: Any) -> None:
    cell = notebook.cells[5]
    (error,) = outputs(cell, "error")
    assert (error.ename, error.evalue) == ("ValueError", "of the program")
    assert "notebook.py" not in "\n".join(error.traceback)  # none of our frames
    assert len(outputs(cell, "display_data")) == 1
    (result,) = outputs(notebook.cells[6], "execute_result")
    assert result.data["text/plain"] == "(1, 'new')"


def test_a_wrong_option_is_one_line(notebook: Any) -> None:
    (said,) = outputs(notebook.cells[7], "stream")
    assert said.text == "hotloop: %%hotloop: unrecognized arguments: --color red\n"
    (result,) = outputs(notebook.cells[8], "execute_result")
    assert result.data["text/plain"] == "False"


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext hotloop")
shell.run_cell("from hotloop import profile, count")
shell.run_cell('''%%hotloop
for _ in range(30):
    with profile("env.step"):
        count("env_steps", 1)
''')
shell.run_cell("%hotloop later = 5")
print(shell.user_ns["later"])
"""


def test_a_terminal_shows_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHELL], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "30 steps" in done.stdout
    assert "Next: hotloop open" in done.stdout
    assert "iframe" not in done.stdout
    assert done.stdout.endswith("5\n")
