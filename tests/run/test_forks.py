"""Which threads count when a program forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.run import forks


def list_tasks(folder: Path, *names: str | None) -> None:
    """Threads of those names; None has ended since the folder was read."""
    for number, name in enumerate(names):
        (folder / str(number)).mkdir()
        if name is not None:
            (folder / str(number) / "comm").write_text(f"{name}\n")


@pytest.mark.parametrize(
    ("names", "has_one"),
    [
        (["python"], True),
        (["python", "hotloop-sampler", "hotloop-thread"], True),
        (["python", "python"], False),
        (["python", None], True),
    ],
)
def test_only_the_programs_threads_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str | None], has_one: bool
) -> None:
    list_tasks(tmp_path, *names)
    monkeypatch.setattr(forks, "_TASKS", str(tmp_path))
    assert forks._has_one_thread() is has_one
