"""The `profile` fixture: a program under the real `hotloop run`, and its report."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiling import Profile, Run, run_program


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """Run a program (source text or a file) under hotloop and read its report."""
    runs = 0

    def profile(
        program: str | Path, *arguments: str, hotloop: bool = True, options: tuple[str, ...] = ()
    ) -> Run:
        nonlocal runs
        runs += 1
        if isinstance(program, Path):
            path = program
        else:
            path = tmp_path / f"program_{runs}.py"
            path.write_text(program)
        return run_program(path, arguments, tmp_path / f"capture_{runs}", hotloop, options)

    return profile
