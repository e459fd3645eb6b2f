"""Lines that compute state from itself, as a simulation does and an observation does not.

`v = self.flow(v)` in a loop, `self.state = advance(self.state, action)` and the lines of a function
that moves `self.x` by `self.v` and back are a recurrence. Its steps have to be computed one after
another, so no table can replace them. Only data flow counts, because names may be in any language.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from hotloop.capture.schema import SLICE

#: The tokens of a source that data flow needs. Strings and comments are skipped.
_TOKEN = re.compile(
    r"""
    (?P<skipped>
        [rRbBfFuU]{0,2} (?: "{3} [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* "{3}
                          | '{3} [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* '{3}
                          | " [^"\\\n]* (?: \\. [^"\\\n]* )* "
                          | ' [^'\\\n]* (?: \\. [^'\\\n]* )* ' )
        | \# [^\n]* | \\ \n )
    | (?P<newline> \n (?P<indent> [ \t]* ) )
    | (?P<name> [^\W\d] \w* (?: \. [^\W\d] \w* )* )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<end> ; )
    | (?P<decorator> @ )
    | (?P<same> [=!<>]= | := )
    | (?P<grows> (?: \*\* | // | << | >> | [-+*/%&|^] ) = )
    | (?P<gets> = )
    | (?P<other> [^\s\w] )
    """,
    re.VERBOSE | re.DOTALL,
)
#: Statements of a function that are followed, and lines that are noted of a file: generated code
#: has thousands.
MOST_STATEMENTS = MOST_LINES = 400


@dataclass
class _Call:
    """A call: its line, the function, and the names of its arguments."""

    line: int
    function: str
    names: set[str] = field(default_factory=set)
    #: Names of which it is given, or gives, a slice.
    sliced: set[str] = field(default_factory=set)


@dataclass
class _Statement:
    """The names that a statement sets, their sources, and its calls with their arguments."""

    line: int
    #: The outermost loop around it, or 0, and the innermost.
    loop: int
    inner: int
    #: Its first word if that is a keyword, `+=` if it adds to its target or takes away.
    kind: str
    targets: set[str] = field(default_factory=set)
    sources: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)


@dataclass
class _Function:
    """A function that is read: its statements so far."""

    indent: int
    first_line: int
    #: The name of its first parameter, usually `self`.
    object: str = ""
    statements: list[_Statement] = field(default_factory=list)
    #: (indentation, line) of the loops around the current statement.
    loops: list[tuple[int, int]] = field(default_factory=list)


def recurrences(text: str) -> dict[str, list[str]]:
    """Line -> functions called there that are given what came of them, and `SLICE` if that is
    sliced; for the first line of a function that moves the state of its object from itself, an
    empty name.
    """
    found: dict[int, list[str]] = {}
    for function in _functions(text):
        flows = _flows(function.statements)
        for line, name in _fed_back(function, flows):
            found.setdefault(line, []).append(name)
        if _moves_its_object(function, flows):
            found.setdefault(function.first_line, []).append("")
    return {str(line): found[line] for line in sorted(found)[:MOST_LINES]}


#: What a running sum is made with.
_ADDS = ("+=", "-=")


def running_sums(text: str) -> list[list[int]]:
    """[first, last] lines of loops that add up weights until a threshold: a draw by weight."""
    found = []
    for function in _functions(text):
        loops = [each for each in function.statements if each.kind in ("for", "while")]
        for header in loops:
            body = [s for s in function.statements if header.line == s.inner and s is not header]
            nests = any(header.line < other.inner <= body[-1].line for other in loops if body)
            if not nests and (end := _drawn_at(header, body)):
                found.append([header.line, end])
    return found


def _drawn_at(header: _Statement, body: list[_Statement]) -> int:
    """The line that leaves a loop once a sum over its items is large enough; 0 if it does more.

    What calls functions on its way is another loop: an episode sums up rewards until it is solved.
    """
    if any(each.calls and each.kind != "return" for each in body):
        return 0
    added = [each for each in body if each.kind == "+="]
    flows = _flows(each for each in body if each.kind != "if")
    for each in added:
        # A `while` counts its items itself.
        counted = set[str]().union(*(other.targets for other in added if other is not each))
        items = _reached(flows, header.targets if header.kind == "for" else counted)
        # A sum is computed from itself as well: only the added term matters.
        if not items & (set(each.sources) - each.targets):
            continue
        for test, leaves in pairwise(body):
            leaving = test.kind == "if" and leaves.kind in ("break", "return")
            if leaving and each.targets & set(test.sources):
                return leaves.line
    return 0


def _fed_back(function: _Function, flows: dict[str, set[str]]) -> Iterator[tuple[int, str]]:
    """(line, name) of calls whose result reaches their own arguments, now or at the next call."""
    own = f"{function.object}."
    for statement in function.statements:
        reached = _reached(flows, statement.targets)
        if not statement.loop:  # called again only with state that the object keeps
            kept = {name for name in reached if name.startswith(own)}
            reached = _reached(flows, kept)
        for call in statement.calls:
            if call.names & reached:
                yield call.line, call.function
            if call.sliced & reached:
                yield call.line, SLICE


def _moves_its_object(function: _Function, flows: dict[str, set[str]]) -> bool:
    """Whether an attribute is made from itself by way of others: not a sum that is kept."""
    own = f"{function.object}."
    for statement in function.statements:
        for name in statement.targets:
            if not function.object or not name.startswith(own):
                continue
            around = _reached(flows, flows.get(name, set()) - {name})
            if name in around or statement.sources.count(name) > 1:
                return True
    return False


def _flows(statements: Iterable[_Statement]) -> dict[str, set[str]]:
    """Name -> the names that are set from it."""
    flows: dict[str, set[str]] = {}
    for statement in statements:
        for name in statement.sources:
            flows.setdefault(name, set()).update(statement.targets)
    return flows


def _reached(flows: dict[str, set[str]], names: set[str]) -> set[str]:
    """These names and all that are set from them, directly or not."""
    found, ahead = set(names), list(names)
    while ahead:
        for name in flows.get(ahead.pop(), set()) - found:
            found.add(name)
            ahead.append(name)
    return found


def _functions(text: str) -> list[_Function]:
    reader = _Reader()
    line, done = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", done, token.start())
        done = token.start()
        reader.read(token, line)
    reader.end_statement()
    return reader.functions


class _Reader:
    """Goes through a source once, statement by statement."""

    def __init__(self) -> None:
        self.functions: list[_Function] = []
        self._around: list[_Function] = []
        self._indent = 0
        self._decorated_at = 0
        #: Of the current statement: its tokens, and the brackets that are open.
        self._tokens: list[tuple[str, str, int]] = []
        self._depth = 0

    def read(self, token: re.Match[str], line: int) -> None:
        kind = token.lastgroup or ""
        if kind == "indent":
            kind = "newline"
        if kind in ("newline", "end") and not self._depth:
            self.end_statement()
            if kind == "newline":
                self._indent = len(token["indent"].expandtabs())
            return
        if kind in ("skipped", "newline", "end"):
            return
        self._depth += (kind == "open") - (kind == "close" and self._depth > 0)
        self._tokens.append((kind, token[0], line))

    def end_statement(self) -> None:
        tokens, self._tokens, self._depth = self._tokens, [], 0
        if not tokens:
            return
        if tokens[0][0] == "decorator":
            self._decorated_at = self._decorated_at or tokens[0][2]
            return
        words = [text for kind, text, _ in tokens[:3] if kind == "name"]
        self._leave_blocks()
        if words and words[words[0] == "async" :][:1] == ["def"]:
            self._enter(tokens)
        elif self._around:
            self._statement(tokens, words[0] if words else "")
        self._decorated_at = 0

    def _leave_blocks(self) -> None:
        while self._around and self._around[-1].indent >= self._indent:
            self._around.pop()
        loops = self._around[-1].loops if self._around else []
        while loops and loops[-1][0] >= self._indent:
            loops.pop()

    def _enter(self, tokens: list[tuple[str, str, int]]) -> None:
        first = self._decorated_at or tokens[0][2]
        opened = next((i for i, (kind, *_) in enumerate(tokens) if kind == "open"), 0)
        parameters = [text for kind, text, _ in tokens[opened : opened + 2] if kind == "name"]
        function = _Function(self._indent, first, parameters[0] if parameters else "")
        self.functions.append(function)
        self._around.append(function)

    def _statement(self, tokens: list[tuple[str, str, int]], word: str) -> None:
        function = self._around[-1]
        if len(function.statements) >= MOST_STATEMENTS:
            return
        if word in ("for", "while"):
            function.loops.append((self._indent, tokens[0][2]))
        loop, inner = (function.loops[at][1] if function.loops else 0 for at in (0, -1))
        split = _assignment(tokens, "in" if word == "for" else "")
        kind = word if keyword.iskeyword(word) else "+=" if tokens[split][1] in _ADDS else ""
        statement = _Statement(tokens[0][2], loop, inner, kind)
        statement.targets = {
            _kept(text, function.object)
            for kind, text, depth in _with_depth(tokens[:split])
            if kind == "name" and depth <= 1 and not keyword.iskeyword(text)
        }
        sources = tokens[split:]
        statement.sources = [
            _kept(text, function.object)
            for kind, text, _ in sources
            if kind == "name" and not keyword.iskeyword(text)
        ]
        if split and tokens[split][0] == "grows":
            statement.sources += statement.targets
        statement.calls = list(_calls(sources, function.object))
        function.statements.append(statement)


def _with_depth(tokens: list[tuple[str, str, int]]) -> Iterator[tuple[str, str, int]]:
    """Tokens with the number of brackets around them; an index is no target."""
    depth, previous = 0, ""
    for kind, text, _ in tokens:
        if kind == "open":
            depth += 2 if text == "[" and previous in ("name", "close") else 1
        elif kind == "close":
            depth = max(depth - (2 if text == "]" and depth > 1 else 1), 0)
        yield kind, text, depth
        previous = kind


def _assignment(tokens: list[tuple[str, str, int]], word: str) -> int:
    """Where the last assignment's right side begins; 0 if nothing is set."""
    depth, found = 0, 0
    for i, (kind, text, _) in enumerate(tokens):
        depth += (kind == "open") - (kind == "close")
        if depth == 0 and (kind in ("gets", "grows") or (word and text == word and not found)):
            found = i
    return found


def _kept(name: str, owner: str) -> str:
    """What a name keeps its value in: an attribute of the object, or a variable."""
    first, _, rest = name.partition(".")
    if owner and first == owner and rest:
        return f"{owner}.{rest.partition('.')[0]}"
    return first


def _calls(tokens: list[tuple[str, str, int]], owner: str) -> Iterator[_Call]:
    """Each call; the code after it, such as a slice of its result, is added to it afterwards."""
    #: For each open bracket: its call, if it is one, and the names of the indexed object.
    around: list[tuple[_Call, set[str]]] = []
    closed = _Call(0, "")
    previous = ("", "", 0)
    for token in tokens:
        kind, text, line = token
        if kind == "open":
            called = text == "(" and previous[0] == "name" and not keyword.iskeyword(previous[1])
            name = previous[1].rpartition(".")[2] if called else ""
            of = {_kept(previous[1], owner)} if previous[0] == "name" else closed.names
            indexes = text == "[" and previous[0] in ("name", "close")
            if indexes and previous[0] == "name":
                closed = _Call(0, "")
            around.append((_Call(previous[2] if called else line, name), of if indexes else set()))
        elif kind == "close" and around:
            closed = around.pop()[0]
            if closed.function:
                yield closed
        elif text == ":" and around:
            for call in (closed, *(each for each, _ in around)):
                call.sliced |= around[-1][1]
        elif kind == "name" and not keyword.iskeyword(text):
            for call, _ in around:
                call.names.add(_kept(text, owner))
        previous = token
