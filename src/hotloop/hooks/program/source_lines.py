"""Reads the calls on the program's hot lines, and the loops around them, from the source.

A sample ends at a line of Python; functions in C that it calls (a file's `write`, a list's
`append`) have no frame. The source shows them: for each sampled line of the program, the names of
the functions called there and the first line of the innermost loop around it; for each such loop,
its last line and whether it selects items by index. Lines without readable source are left out.
Recurrences (`feedback`) and polling (`polling`) are noted as well.
"""

from __future__ import annotations

import keyword
import re
import tokenize
from dataclasses import dataclass, field
from os import stat
from stat import S_ISREG
from typing import Any

from hotloop.capture.schema import Notes
from hotloop.hooks.program.feedback import recurrences, running_sums
from hotloop.hooks.program.files import is_program_file
from hotloop.hooks.program.polling import polling_lines
from hotloop.measure.profiler import Profiler

#: Lines that are noted of a run, files that are read, and the largest of them: a program has a few
#: hot lines, a generated one may have thousands.
MOST_LINES = 400
MOST_FILES = 64
LARGEST_FILE = 1_000_000
#: Lines of one file where it polls.
MOST_POLLS = 100
#: A call that is written over more lines than this is a table of its own.
LONGEST_CALL = 12


class LineNames:
    """Looks up the source lines of new stacks."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._seen = 0
        self._files: dict[str, dict[int, list[Any]]] = {}
        #: File -> line -> [names that are called there, first line of the loop around it or 0].
        self._found: dict[str, dict[str, list[Any]]] = {}
        #: File -> first line of a loop -> [last line, whether it picks items by their number].
        self._loops: dict[str, dict[int, list[int]]] = {}
        self._found_loops: dict[str, dict[str, list[int]]] = {}
        #: File -> line -> functions called there that are given what came of them.
        self._recurrent: dict[str, dict[str, list[str]]] = {}
        #: File -> [first, last] lines on which it polls, and on which it draws by weight.
        self._polls: dict[str, list[list[int]]] = {}
        self._sums: dict[str, list[list[int]]] = {}
        self._count = 0

    def notes(self) -> dict[str, Any]:
        """Called when each window closes; only new lines are looked up."""
        stacks = self._profiler.stacks
        for row in stacks[self._seen :]:
            self._look_up(row.file, row.line)
        self._seen = len(stacks)
        found = {file: dict(lines) for file, lines in self._found.items()}
        loops = {file: dict(lines) for file, lines in self._found_loops.items()}
        every = {
            Notes.lines: found,
            Notes.loops: loops,
            Notes.recurrences: dict(self._recurrent),
            Notes.polls: dict(self._polls),
            Notes.running_sums: dict(self._sums),
        }
        return {name: note for name, note in every.items() if note}

    def _look_up(self, file: str, line: int) -> None:
        if self._count >= MOST_LINES or str(line) in self._found.get(file, ()):
            return
        if file not in self._files:
            # Libraries do not count: an import alone goes through hundreds of files.
            if not is_program_file(file) or len(self._files) >= MOST_FILES:
                return
            self._read(file)
        entry = self._files[file].get(line)
        if entry is not None:
            self._found.setdefault(file, {})[str(line)] = entry
            self._count += 1
            if entry[1]:
                loop = self._loops[file][entry[1]]
                self._found_loops.setdefault(file, {})[str(entry[1])] = loop

    def _read(self, file: str) -> None:
        text = _text_of(file)
        source = _Source(text)
        self._files[file], self._loops[file] = source.lines, source.loops
        if found := recurrences(text):
            self._recurrent[file] = found
        if polls := [list(lines) for lines in polling_lines(text)[:MOST_POLLS]]:
            self._polls[file] = polls
        if sums := running_sums(text)[:MOST_POLLS]:
            self._sums[file] = sums


def lines_of(file: str) -> dict[int, list[Any]]:
    """Line -> [names called there, first line of the innermost loop]; empty if it is unreadable."""
    return _Source(_text_of(file)).lines


def _text_of(file: str) -> str:
    """A source; empty if it is unreadable or too large."""
    try:
        if not S_ISREG(stat(file).st_mode):
            return ""  # a pipe would never end
        with tokenize.open(file) as source:
            text = source.read(LARGEST_FILE + 1)
    except (OSError, SyntaxError, ValueError, MemoryError):
        return ""
    return text if len(text) <= LARGEST_FILE else ""


#: The tokens of a source that matter here. Python's own parser is not used: in 3.11.7,
#: for one, two threads that use it at a time can make each other fail (`SystemError` of its
#: recursion depth, gh-106905), and this runs in hotloop's thread.
_PART = re.compile(
    r"""
    (?P<skipped>
        [rRbBfFuU]{0,2} (?: "{3} [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* "{3}
                          | '{3} [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* '{3}
                          | " [^"\\\n]* (?: \\. [^"\\\n]* )* "
                          | ' [^'\\\n]* (?: \\. [^'\\\n]* )* ' )
        | \# [^\n]* | \\ \n )
    | (?P<newline> \n (?P<indent> [ \t]* ) )
    | (?P<dot> \. [ \t]* )? (?P<name> [^\W\d] \w* (?: \. [^\W\d] \w* )* ) (?P<call> [ \t]* \( )?
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    """,
    re.VERBOSE | re.DOTALL,
)
#: Inside a formatted string: the parts between braces, and the names called there.
_FIELD = re.compile(r"\{[^{}]{1,200}\}")
_CALL = re.compile(r"(?:(?<![\w.])|(?<=[)\]}])(?P<dot>\.))(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\(")
#: What begins a statement for sure: a bracket that is open here was none.
_STATEMENTS = ("def", "class", "import")
#: Keywords before a name that is defined, not called.
_DEFINES = ("def", "class")
_FORMATTED = ('f"', "f'", "rf", "fr")


@dataclass
class _Block:
    """A loop, or a function, in which the first line is 0."""

    indent: int
    first: int
    #: What a `for` sets, and whether something is indexed by it.
    counters: set[str] = field(default_factory=set)
    picks: bool = False


class _Source:
    """Goes through a source once, and keeps which names are called on each line."""

    def __init__(self, text: str) -> None:
        self.lines: dict[int, list[Any]] = {}
        #: First line of a loop -> [its last line, whether it picks items by their number].
        self.loops: dict[int, list[int]] = {}
        #: The blocks around this line.
        self._blocks: list[_Block] = []
        #: (name or "", line, whether it is an index) of the brackets that are open.
        self._open: list[tuple[str, int, bool]] = []
        #: The header of a `for` that is not read to its `in`.
        self._header: _Block | None = None
        self._last = 0
        #: Of a line that has just begun; None after its first name.
        self._indent: int | None = 0
        self._before = ""
        line, done = 1, 0
        for part in _PART.finditer(text):
            line += text.count("\n", done, part.start())
            done = part.start()
            if part["newline"] is not None:
                if not self._open:
                    self._indent = len(part["indent"].expandtabs())
            elif part["name"] is not None:
                self._name(part, line)
            elif part["open"] is not None:
                self._open.append(("", line, _is_index(part)))
            elif part["close"] is not None and self._open:
                self._close(line)
            elif part["skipped"][:2].lower() in _FORMATTED:
                self._formatted(part["skipped"], line)
        self._leave_blocks(0)

    def _leave_blocks(self, indent: int) -> None:
        """The next statement has this indentation."""
        while self._blocks and self._blocks[-1].indent >= indent:
            block = self._blocks.pop()
            if block.first:
                self.loops[block.first] = [self._last, int(block.picks)]

    def _name(self, part: re.Match[str], line: int) -> None:
        name = part["name"]
        if self._open and name in _STATEMENTS and part.string[part.start() - 1] == "\n":
            self._open.clear()
            self._indent = 0
        if self._indent is not None and name != "async":
            self._leave_blocks(self._indent)
            if name in ("for", "while", "def"):
                self._blocks.append(_Block(self._indent, 0 if name == "def" else line))
            self._header = self._blocks[-1] if name == "for" else None
            self._indent = None
            if self._loop():  # a loop's lines count, also those that call nothing
                self._entry(line, self._loop())
        self._count_with(name)
        self._last = line
        if part["call"]:
            called = not keyword.iskeyword(name) and self._before not in _DEFINES
            # Of what a call or an index gives only the method is known.
            method = name.rpartition(".")[2] if part["dot"] else name
            self._open.append((method * called, line, False))
        self._before = name

    def _count_with(self, name: str) -> None:
        """Names between `for` and `in` count; in an index, what they count is picked."""
        if name == "in":
            self._header = None
        elif self._header is not None:
            self._header.counters.add(name)
        elif self._open and self._open[-1][2]:
            for block in self._blocks:
                block.picks |= name in block.counters

    def _formatted(self, text: str, line: int) -> None:
        for braces in _FIELD.finditer(text):
            for part in _CALL.finditer(braces[0]):
                name = part["name"].rpartition(".")[2] if part["dot"] else part["name"]
                at = line + text.count("\n", 0, braces.start())
                self._called(name, at, at)

    def _close(self, line: int) -> None:
        name, first, _ = self._open.pop()
        if name:
            self._called(name, first, line)

    def _called(self, name: str, first: int, last: int) -> None:
        for each in range(first, min(last, first + LONGEST_CALL) + 1):
            names = self._entry(each, self._loop())
            if name not in names:
                names.append(name)

    def _loop(self) -> int:
        """First line of the innermost loop; a function defined in a loop does not run as often."""
        return self._blocks[-1].first if self._blocks else 0

    def _entry(self, line: int, loop: int) -> list[str]:
        names, _ = entry = self.lines.setdefault(line, [[], loop])
        entry[1] = max(entry[1], loop)
        called: list[str] = names
        return called


def _is_index(part: re.Match[str]) -> bool:
    before = part.string[part.start() - 1] if part.start() else ""
    return part["open"] == "[" and (before.isalnum() or before in tuple("_])"))
