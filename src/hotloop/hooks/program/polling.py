"""Finds where the program polls: loops and branches that only check until something has changed.

`while flag.value == 0: pass` is a wait although its thread computes, and so is `time.sleep(0.001)`
between two checks. A loop polls if nothing in its body makes progress: it only checks values,
sleeps or leaves. So it can only be ended from outside, by another process or thread. A loop that
checks nothing but a clock is a pause of the program itself.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

#: Calls that read something and change nothing; for a method, its name.
_LOOKS = frozenset(
    ["all", "any", "len", "int", "bool", "float", "str", "abs", "min", "max", "sum", "range",
     "list", "tuple", "set", "sorted", "enumerate", "zip", "isinstance", "getattr", "print",
     "is_set", "empty", "full", "qsize", "poll", "is_alive", "done", "ready", "locked", "exists",
     "is_file", "isfile", "getsize", "item", "tolist", "nonzero", "count_nonzero", "array",
     "asarray", "copy", "clone", "numpy", "view", "equal", "array_equal", "keys", "values", "items",
     "get_obj", "get_lock", "get_value",
     "frombuffer", "reshape", "astype", "where", "flatnonzero", "as_array"]
)  # fmt: skip
#: Calls that take something if there is any, and otherwise raise.
_TAKES = frozenset({"get_nowait", "get"})
_CLOCK = re.compile(r"[\w.]*\b(?:perf_counter|monotonic|time|process_time)(?:_ns)?\(\s*\)")
_SLEEP = re.compile(r"[\w.]*\b(?:sleep|sched_yield)\(([^()]*)\)$")
_CALL = re.compile(r"([^\W\d][\w.]*|[)\]])\s*\(")
_NAMES_ONLY = re.compile(r"[^\W\d]\w*(?:\s*,\s*[^\W\d]\w*)*\s*(?::[^=]+)?$")
_COUNTS = re.compile(r"[^\W\d]\w*\s*[+-]=\s*\d+$")
_INDEX = re.compile(r"[\[(](.*)[\])]")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_CLAUSE = re.compile(r"\b(?:and|or)\b")
#: A name that is walked along: `while frame := frame.f_back`.
_WALKS = re.compile(r"\b(\w+)\s*:=[^=]*\b\1\b")
_CONSTANT = frozenset({"True", "1"})
_HEADS = frozenset({"if", "elif", "else", "try", "except", "finally", "while", "with"})
_LEAVES = ("break", "return", "raise")


@dataclass
class Statement:
    """A statement without its comments and strings, and the block below it."""

    text: str
    first: int
    last: int
    body: list[Statement] = field(default_factory=list)

    @property
    def head(self) -> str:
        found = _NAME.match(self.text)
        return found[0] if found else ""

    @property
    def condition(self) -> str:
        """What follows the keyword of a header."""
        return self.text[len(self.head) :].strip(" :") if self.head in _HEADS else ""

    def below(self) -> Iterator[Statement]:
        for each in self.body:
            yield each
            yield from each.below()


def polling_lines(text: str) -> list[tuple[int, int]]:
    """(first, last) lines of a source on which it only waits for others."""
    found: list[tuple[int, int]] = []
    _search(statements_of(text), False, found)
    return found


def _search(block: Iterable[Statement], in_loop: bool, found: list[tuple[int, int]]) -> None:
    for each in block:
        if each.head == "while" and _polls(each):
            found.append((each.first, max(each.last, *(s.last for s in each.below()))))
            continue
        if each.head == "while" and _sleeps_only(each.body):
            found += [(s.first, s.last) for s in _sleeps(each.body)]
        elif in_loop and each.head in ("if", "elif", "else", "except") and _is_idle(each):
            found += [(s.first, s.last) for s in _sleeps(each.body) if not _paces(s, each)]
        _search(each.body, in_loop or each.head in ("while", "for"), found)


def _polls(loop: Statement) -> bool:
    """Whether nothing in a loop makes progress, and the values it checks are not its own."""
    inside = list(loop.below())
    if not inside or not _looks(loop.condition) or not all(map(_is_idle, loop.body)):
        return False
    if _empties(inside) or _advances([loop, *inside]):
        return False
    leaves = any(s.head in _LEAVES for s in inside)
    if loop.condition in _CONSTANT and not leaves:
        return False
    timing = {n for s in inside if _CLOCK.search(_value(s)) for n in _NAME.findall(_target(s))}
    conditions = [s.condition for s in [loop, *inside] if s.head in ("while", "if", "elif")]
    clauses = [clause for c in conditions for clause in _CLAUSE.split(c)]
    for clause in clauses:
        if _CLOCK.search(clause):
            timing.update(_names(clause))
    return any(map(_takes, inside)) or any(_names(c) and not _names(c) & timing for c in clauses)


def _empties(inside: list[Statement]) -> bool:
    """Whether a loop takes until nothing is left."""
    handlers = [s for s in inside if s.head == "except"]
    leaves = any(below.head in _LEAVES for s in handlers for below in s.below())
    return any(map(_takes, inside)) and (leaves or not handlers)


def _advances(statements: list[Statement]) -> bool:
    """Whether a variable continues from its last value, as in a search: `node = node.next`."""
    changed = {n for s in statements for n in _NAME.findall(_target(s))}
    values = {n for s in statements for n in _NAME.findall(_value(s))}
    counters = {_NAME.findall(s.text)[0] for s in statements if _COUNTS.match(s.text)}
    indices = {
        n for s in statements for part in _INDEX.findall(s.condition) for n in _NAME.findall(part)
    }
    walks = any(_WALKS.search(s.condition) for s in statements)
    return walks or bool(changed & values or counters & (indices | values))


def _names(expression: str) -> set[str]:
    return {name for name in _NAME.findall(expression) if not keyword.iskeyword(name)}


def _is_idle(statement: Statement) -> bool:
    """Whether a statement, with all below it, changes nothing but variables that it looks up."""
    if statement.body:
        taking = statement.head == "except" or _looks(statement.condition)
        return statement.head in _HEADS and taking and all(map(_is_idle, statement.body))
    text = statement.text
    if statement.head in ("pass", "continue", "break", "raise", "global", "nonlocal"):
        return True
    if statement.head == "return":
        return _looks(text[len("return") :])
    if _SLEEP.match(text) or _COUNTS.match(text) or _looks_alone(text):
        return True
    return _takes(statement) or (_assigns(text) and _looks(_value(statement)))


def _sleeps_only(block: list[Statement]) -> bool:
    """Whether a loop's body is a sleep of a fixed length, with the check in its condition."""
    return bool(block) and all(
        s.head in ("pass", "continue") or (_SLEEP.match(s.text) and _fixed(s)) for s in block
    )


def _sleeps(block: Iterable[Statement]) -> list[Statement]:
    return [each for each in block if not each.body and _SLEEP.match(each.text)]


def _fixed(sleep: Statement) -> bool:
    found = _SLEEP.match(sleep.text)
    return found is not None and "-" not in found[1]


def _paces(sleep: Statement, branch: Statement) -> bool:
    """Whether a sleep keeps a rate: its length is the time measured by its condition."""
    found = _SLEEP.match(sleep.text)
    names = set(_NAME.findall(found[1])) if found else set()
    return not _fixed(sleep) or bool(names & set(_NAME.findall(branch.condition)))


def _looks(expression: str) -> bool:
    """Whether an expression calls only functions that read."""
    rest = _CLOCK.sub("", expression)
    called = (found[1] for found in _CALL.finditer(rest))
    return all(keyword.iskeyword(name) or name.rpartition(".")[2] in _LOOKS for name in called)


def _looks_alone(text: str) -> bool:
    return text.endswith(")") and "=" not in text and _looks(text)


def _assigns(text: str) -> bool:
    target, equals, _ = text.partition("=")
    return bool(equals) and _NAMES_ONLY.match(target.strip()) is not None


def _target(statement: Statement) -> str:
    return statement.text.partition("=")[0] if _assigns(statement.text) else ""


def _value(statement: Statement) -> str:
    return statement.text.partition("=")[2] if _assigns(statement.text) else ""


def _takes(statement: Statement) -> bool:
    """Whether a statement takes something without waiting for it."""
    if statement.body or not _assigns(statement.text):
        return False
    value = _value(statement).strip()
    found = _CALL.match(value)
    if found is None or not value.endswith(")"):
        return False
    name = found[1].rpartition(".")[2]
    return name in _TAKES and (name == "get_nowait" or "False" in value or name.startswith("pop"))


# -- a source as statements --

_PART = re.compile(
    r"""
    (?P<text> [rRbBfFuU]{0,2} (?: \"{3} .*? \"{3} | '{3} .*? '{3}
                                | \" (?: \\. | [^\"\\\n] )* \" | ' (?: \\. | [^'\\\n] )* ' ) )
    | (?P<comment> \# [^\n]* ) | (?P<joined> \\ \n ) | (?P<newline> \n )
    | (?P<open> [(\[{] ) | (?P<close> [)\]}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMPOUND = frozenset({*_HEADS, "for", "def", "class", "async", "match", "case"})


def statements_of(text: str) -> list[Statement]:
    """The statements of a source, nested by their indentation."""
    top: list[Statement] = []
    blocks: list[tuple[int, list[Statement]]] = [(-1, top)]
    for indent, statement in _lines(text):
        while blocks[-1][0] >= indent:
            blocks.pop()
        blocks[-1][1].append(statement)
        blocks.append((indent, statement.body))
        header, inline = _split_header(statement)
        if inline:
            statement.text = header
            statement.body += [
                Statement(part.strip(), statement.first, statement.last)
                for part in inline.split(";")
                if part.strip()
            ]
    return top


def _lines(text: str) -> Iterator[tuple[int, Statement]]:
    """(indentation, statement) of each logical line."""
    pieces: list[str] = []
    depth = done = 0
    first = line = 1
    for part in [*_PART.finditer(text), None]:
        end = part.start() if part is not None else len(text)
        pieces.append(text[done:end])
        done = part.end() if part is not None else end
        if part is None or (part["newline"] and depth == 0):
            joined = "".join(pieces)
            code = joined.strip()
            if code:
                indent = len(joined.expandtabs()) - len(joined.expandtabs().lstrip())
                yield indent, Statement(code, first, line)
            pieces.clear()
            first = line = line + 1
            continue
        line += part[0].count("\n")
        if part["open"] or part["close"]:
            depth = max(depth + (1 if part["open"] else -1), 0)
            pieces.append(part[0])
        else:
            pieces.append('""' if part["text"] else " " if not part["comment"] else "")


def _split_header(statement: Statement) -> tuple[str, str]:
    """(header, the code after its colon) of a compound statement."""
    if statement.head not in _COMPOUND:
        return statement.text, ""
    depth = 0
    for at, character in enumerate(statement.text):
        depth += (character in "([{") - (character in ")]}")
        if character == ":" and depth == 0 and statement.text[at + 1 : at + 2] != "=":
            return statement.text[: at + 1], statement.text[at + 1 :].strip()
    return statement.text, ""
