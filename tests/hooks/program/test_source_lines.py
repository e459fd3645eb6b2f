"""What hot lines call, read from the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotloop.capture.lines import StackRow
from hotloop.hooks.program.source_lines import MOST_FILES, MOST_LINES, LineNames, lines_of

SOURCE = """import json
def train(env, out):
    for step in range(9):
        obs = env.step(0)
        for i in range(4):
            store.push(
                obs[i].item(),
                1,
            )
        out.write(json.dumps(obs)); out.flush()
        rows = np.random.choice(9); self.memory.ring[0].push(rows)
    def later():
        print(obs)
    return later
"""


def test_calls_and_loops(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(SOURCE)
    lines = lines_of(str(program))
    assert lines[4] == [["env.step"], 3]
    assert lines[6] == [["store.push"], 5]
    assert set(lines[7][0]) == {"store.push", "item"}  # an argument's line is the call's too
    assert set(lines[10][0]) == {"out.write", "json.dumps", "out.flush"}
    assert set(lines[11][0]) == {"np.random.choice", "push"}
    assert lines[13] == [["print"], 0]


def test_a_loop_has_an_end_and_may_pick_items_by_their_number(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(SOURCE)
    profiler: Any = FakeProfiler()
    for line in (7, 11):
        profiler.stacks.append(StackRow(line, 0, str(program), "<module>", 1, line))
    notes = LineNames(profiler).notes()
    assert notes["loops"] == {str(program): {"5": [7, 1], "3": [11, 0]}}


WRITTEN = """text = '''not.called() and
# for nothing in range(3):
'''
class Agent(Base):
    async def act(self, obs):
        return (self.net(obs)
                .argmax())
for n in range(2): first(n)
second(n) if (n) else None
while True:
    print(f"{n} {float(loss.item()):.1f} not(this)", \\
      third())
    for x in xs:

        # fourth()
        fourth()
    fifth()
"""


def test_strings_comments_and_lines_that_go_on(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(WRITTEN)
    lines = lines_of(str(program))
    assert {line: [sorted(names), loop] for line, (names, loop) in lines.items()} == {
        6: [["self.net"], 0],
        7: [["argmax"], 0],
        8: [["first", "range"], 8],
        9: [["second"], 0],
        10: [[], 10],
        11: [["float", "loss.item", "print"], 10],
        12: [["print", "third"], 10],
        13: [[], 13],
        16: [["fourth"], 13],
        17: [["fifth"], 10],
    }


def test_numbers_and_dots_at_the_end_of_a_line(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "class A:\n    def stub(self): ...\n    def f(self, rewards):\n        total = 0.\n"
        "        for r in reversed(rewards):\n            out.insert(0, r)\n            y = 1.\n"
        "def g():\n    h(1)\nx = f'{f'('}'\nimport os\nfor i in z:\n    last(i)\n"
    )
    lines = lines_of(str(program))
    assert lines[6] == [["out.insert"], 5]
    assert lines[9] == [["h"], 0]
    assert lines[13] == [["last"], 12]


def test_a_long_name_in_a_string_takes_no_time(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    chain = ".".join("a" for _ in range(200_000))
    program.write_text(f'x = f\'{{{chain}}}\'\ny = """{"word " * 100_000}"""\nf()\n')
    assert lines_of(str(program)) == {3: [["f"], 0]}


def test_pythons_parser_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that parse at a time can fail, and one of them may be the program's."""

    def compile(*_: Any, **__: Any) -> None:
        raise AssertionError("parsed")

    program = tmp_path / "train.py"
    program.write_text(SOURCE)
    monkeypatch.setattr("builtins.compile", compile)
    assert lines_of(str(program))[4] == [["env.step"], 3]


def test_unreadable_sources_say_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:")
    assert lines_of(str(broken)) == lines_of(str(tmp_path / "none.py")) == {}
    assert lines_of("<string>") == {}


class FakeProfiler:
    def __init__(self) -> None:
        self.stacks: list[StackRow] = []


def test_files_of_libraries_do_not_crowd_out_the_programs(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("f()")
    profiler: Any = FakeProfiler()
    names = LineNames(profiler)
    for i in range(3 * MOST_FILES):
        file = f"/venv/lib/python3.11/site-packages/torch/_{i}.py"
        profiler.stacks.append(StackRow(i + 1, 0, file, "<module>", 1, 1))
    assert names.notes() == {}
    profiler.stacks.append(StackRow(999, 0, str(program), "<module>", 1, 1))
    assert names.notes() == {"lines": {str(program): {"1": [["f"], 0]}}}


def test_only_lines_that_were_seen_are_noted_and_not_too_many(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("\n".join(f"f{i}()" for i in range(MOST_LINES + 50)))
    profiler: Any = FakeProfiler()
    names = LineNames(profiler)
    assert names.notes() == {}
    profiler.stacks.append(StackRow(1, 0, str(program), "<module>", 1, 3))
    assert names.notes() == {"lines": {str(program): {"3": [["f2"], 0]}}}
    for line in range(1, MOST_LINES + 50):
        profiler.stacks.append(StackRow(line + 1, 0, str(program), "<module>", 1, line))
    assert len(names.notes()["lines"][str(program)]) == MOST_LINES
