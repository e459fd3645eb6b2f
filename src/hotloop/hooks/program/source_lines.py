"""What the program's own hot lines call, and the loops that they are in.

A sample ends at a line of Python; what that line calls in C (a file's `write`, a list's `append`)
has no frame. The source has it: for each sampled line of the program, the names of the
functions called there, and the first line of the innermost loop around it. A line that is in no
readable source is left out.
"""

from __future__ import annotations

import keyword
import re
import tokenize
from os import stat
from stat import S_ISREG
from typing import Any

from hotloop.capture.schema import Notes
from hotloop.hooks.program.files import is_program_file
from hotloop.measure.profiler import Profiler

#: Lines that are noted of a run, files that are read, and the largest of them: a program has a few
#: hot lines, a generated one may have thousands.
MOST_LINES = 400
MOST_FILES = 64
LARGEST_FILE = 1_000_000
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
        self._count = 0

    def notes(self) -> dict[str, Any]:
        """Called as each window closes; only what is new is looked up."""
        stacks = self._profiler.stacks
        for row in stacks[self._seen :]:
            self._look_up(row.file, row.line)
        self._seen = len(stacks)
        found = {file: dict(lines) for file, lines in self._found.items()}
        return {Notes.lines: found} if found else {}

    def _look_up(self, file: str, line: int) -> None:
        if self._count >= MOST_LINES or str(line) in self._found.get(file, ()):
            return
        if file not in self._files:
            # Libraries do not count: an import alone goes through hundreds of files.
            if not is_program_file(file) or len(self._files) >= MOST_FILES:
                return
            self._files[file] = lines_of(file)
        entry = self._files[file].get(line)
        if entry is not None:
            self._found.setdefault(file, {})[str(line)] = entry
            self._count += 1


def lines_of(file: str) -> dict[int, list[Any]]:
    """Line -> [names called there, first line of the innermost loop]; empty if it is unreadable."""
    try:
        if not S_ISREG(stat(file).st_mode):
            return {}  # a pipe would never end
        with tokenize.open(file) as source:
            text = source.read(LARGEST_FILE + 1)
    except (OSError, SyntaxError, ValueError, MemoryError):
        return {}
    return _Source(text).lines if len(text) <= LARGEST_FILE else {}


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
#: Inside a formatted string: what is between braces, and the names that are called there.
_FIELD = re.compile(r"\{[^{}]{1,200}\}")
_CALL = re.compile(r"(?:(?<![\w.])|(?<=[)\]}])(?P<dot>\.))(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\(")
#: What begins a statement for sure: a bracket that is open here was none.
_STATEMENTS = ("def", "class", "import")
#: Keywords before a name that is defined, not called.
_DEFINES = ("def", "class")
_FORMATTED = ('f"', "f'", "rf", "fr")


class _Source:
    """Goes through a source once, and keeps which names are called on each line."""

    def __init__(self, text: str) -> None:
        self.lines: dict[int, list[Any]] = {}
        #: (indentation, first line of a loop; 0 of a function) of the blocks around this line.
        self._blocks: list[tuple[int, int]] = []
        #: (name or "", line) of the brackets that are open.
        self._open: list[tuple[str, int]] = []
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
                self._open.append(("", line))
            elif part["close"] is not None and self._open:
                self._close(line)
            elif part["skipped"][:2].lower() in _FORMATTED:
                self._formatted(part["skipped"], line)

    def _name(self, part: re.Match[str], line: int) -> None:
        name = part["name"]
        if self._open and name in _STATEMENTS and part.string[part.start() - 1] == "\n":
            self._open.clear()
            self._indent = 0
        if self._indent is not None and name != "async":
            while self._blocks and self._blocks[-1][0] >= self._indent:
                self._blocks.pop()
            if name in ("for", "while", "def"):
                self._blocks.append((self._indent, 0 if name == "def" else line))
            self._indent = None
            if self._loop():  # a loop's lines count, also those that call nothing
                self._entry(line, self._loop())
        if part["call"]:
            called = not keyword.iskeyword(name) and self._before not in _DEFINES
            # Of what a call or an index gives only the method is known.
            self._open.append(((name.rpartition(".")[2] if part["dot"] else name) * called, line))
        self._before = name

    def _formatted(self, text: str, line: int) -> None:
        for field in _FIELD.finditer(text):
            for part in _CALL.finditer(field[0]):
                name = part["name"].rpartition(".")[2] if part["dot"] else part["name"]
                at = line + text.count("\n", 0, field.start())
                self._called(name, at, at)

    def _close(self, line: int) -> None:
        name, first = self._open.pop()
        if name:
            self._called(name, first, line)

    def _called(self, name: str, first: int, last: int) -> None:
        for each in range(first, min(last, first + LONGEST_CALL) + 1):
            names = self._entry(each, self._loop())
            if name not in names:
                names.append(name)

    def _loop(self) -> int:
        """First line of the innermost loop; a function defined in a loop does not run as often."""
        return self._blocks[-1][1] if self._blocks else 0

    def _entry(self, line: int, loop: int) -> list[str]:
        names, _ = entry = self.lines.setdefault(line, [[], loop])
        entry[1] = max(entry[1], loop)
        called: list[str] = names
        return called
