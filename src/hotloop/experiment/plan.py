"""An investigation's plan: TOML that a person writes, checked line by line.

[baseline]
command = "train.py --push loop --train-ratio 64"
steps = 20000

[goal]
minimum = "5x"
stretch = "10x"

[[hypothesis]]
name = "training ratio"
claim = "64 gradient steps for each vector step are far too many"
arguments = "--train-ratio 4"
expected = "10-15x"
confidence = "high"
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from hotloop.analyze.comparing.experiments import Claim
from hotloop.analyze.comparing.hypothesis import (
    CONFIDENCES,
    SLOPES,
    Expected,
    parse_gain,
    parse_slope,
)
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, parse_command, shown
from hotloop.experiment.to_return import parse_target
from hotloop.masking import mask_text
from hotloop.run.options import check_alterations
from hotloop.run.stopping import StopAfter, parse_stop_after

#: The name of runs without a change.
BASELINE = "baseline"
BASELINE_KEYS = ("command", "steps", "stop_after", "timeout", "pairs", "warm_up")
GOAL_KEYS = ("minimum", "stretch", "to_return", "seeds")
CHANGE_KEYS = ("arguments", "without", "environment", "patch", "command", "fix", "skip", "slow")
HYPOTHESIS_KEYS = ("name", "claim", "expected", "confidence", *CHANGE_KEYS)
TABLES = ("baseline", "goal", "hypothesis")


@dataclass(frozen=True)
class Change:
    """The change of a hypothesis."""

    arguments: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    patch: str | None = None
    command: str | None = None
    #: Run-time fixes, as `hotloop run --fix` takes them.
    fix: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    #: A phase and the delays to add to it, one after the other.
    slow: tuple[str, tuple[str, ...]] | None = None

    @property
    def is_experiment(self) -> bool:
        """Whether it is an experiment only: it changes the training."""
        return bool(self.skip or self.slow)

    def __str__(self) -> str:
        parts = [mask_text(f"{name}={value}") for name, value in self.environment.items()]
        parts += [f"command: {shown(self.command)}"] if self.command else []
        parts += [f"without {shown(shlex.join(self.without))}"] if self.without else []
        parts += [shown(shlex.join(self.arguments))] if self.arguments else []
        parts += [f"patch {self.patch}"] if self.patch else []
        parts += [f"fix {', '.join(self.fix)}"] if self.fix else []
        parts += [f"skip {', '.join(self.skip)}"] if self.skip else []
        if self.slow:
            parts.append(f"slow {self.slow[0]} by {', '.join(self.slow[1])}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Hypothesis:
    """One claim, and how to try it."""

    name: str
    claim: str
    change: Change
    expected: Expected
    #: As it was written.
    expected_text: str
    confidence: str

    def as_claim(self) -> Claim:
        """The hypothesis as it is shown: what it changes in words, secrets masked."""
        return Claim(
            self.name,
            self.claim,
            str(self.change),
            self.expected,
            self.expected_text,
            self.confidence,
            self.change.is_experiment,
            self.change.slow is not None,
        )


@dataclass(frozen=True)
class Plan:
    """A whole investigation."""

    baseline: Command
    hypotheses: list[Hypothesis]
    stop_after: str | None = None
    timeout_s: float | None = None
    pairs: int | None = None
    warm_up: int = 1
    minimum: float | None = None
    stretch: float | None = None
    #: The return to reach, as `--to-return` takes it, and over how many seeds.
    to_return: str | None = None
    seeds: int | None = None
    #: The folder of the plan's patches.
    folder: Path = Path(".")


def read_plan(path: Path) -> Plan:
    """The plan in a file; a `HotloopError` names the line and says what would be right."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise HotloopError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise HotloopError(f"{path}: is not text (UTF-8)") from None
    return _Reader(path, text).plan()


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')


def masked_plan(text: str) -> str:
    """A plan's text as it may be stored: what looks like a secret is masked."""
    lines = (_STRING.sub(_mask_string, line) for line in text.splitlines())
    return "\n".join(map(mask_text, lines)) + "\n"


def _mask_string(match: re.Match[str]) -> str:
    """A command in quotes: an option and its value are two words of one string."""
    quote, written = match[0][0], match[0][1:-1]
    masked = shown(written)
    return match[0] if masked == written else f"{quote}{masked.replace(quote, '')}{quote}"


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """TOML, by the module that this Python has for it."""
    for name in ("tomllib", "tomli"):  # Python 3.10 has none of its own
        try:
            toml: Any = import_module(name)
            break
        except ImportError:
            continue
    else:
        raise HotloopError(f"{path}: reading a plan needs Python 3.11, or: pip install tomli")
    try:
        return dict(toml.loads(text))
    except toml.TOMLDecodeError as error:
        raise HotloopError(f"{path}: {error}") from None


class _Reader:
    """Reads a plan and keeps line numbers for error messages."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._document = parse_toml(path, text)

    def plan(self) -> Plan:
        document = self._document
        self._check_keys(document, TABLES, "", 0)
        baseline = self._table("baseline", required=True)
        goal = self._table("goal")
        self._check_keys(baseline, BASELINE_KEYS, "baseline", 0)
        self._check_keys(goal, GOAL_KEYS, "goal", 0)
        given = document.get("hypothesis", [])
        if not isinstance(given, list) or not given or not all(isinstance(h, dict) for h in given):
            raise self._wrong("hypothesis", 0, "hypothesis", "write at least one [[hypothesis]]")
        hypotheses = [self._hypothesis(table, index) for index, table in enumerate(given)]
        names = [hypothesis.name for hypothesis in hypotheses]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self._wrong("hypothesis", index, "name", f"{name!r} appears twice")
            if name == BASELINE:
                raise self._wrong(
                    "hypothesis", index, "name", "is reserved for the unchanged program"
                )
        return Plan(
            baseline=self._command(baseline, "baseline", 0, required=True) or Command(()),
            hypotheses=hypotheses,
            stop_after=self._stop_after(baseline),
            timeout_s=self._timeout(baseline),
            pairs=self._whole_number(baseline, "pairs", 1),
            warm_up=self._whole_number(baseline, "warm_up", 0, default=1) or 0,
            minimum=self._factor(goal, "minimum"),
            stretch=self._factor(goal, "stretch"),
            to_return=self._to_return(goal),
            seeds=self._whole_number(goal, "seeds", 1, section="goal"),
            folder=self._path.absolute().parent,
        )

    # -- tables --

    def _table(self, name: str, required: bool = False) -> dict[str, Any]:
        table = self._document.get(name, {})
        if not isinstance(table, dict) or (required and not table):
            raise self._wrong("", 0, name, f"write a table [{name}]")
        return table

    def _hypothesis(self, table: dict[str, Any], index: int) -> Hypothesis:
        where = ("hypothesis", index)
        self._check_keys(table, HYPOTHESIS_KEYS, *where)
        name = self._text(table, "name", *where, required=True)
        claim = self._text(table, "claim", *where, required=True)
        change = self._change(table, index)
        expected_text = table.get("expected")
        if expected_text is None:
            raise self._missing("expected", *where, 'a gain such as "2-3x"')
        if isinstance(expected_text, (int, float)) and not isinstance(expected_text, bool):
            expected_text = f"{expected_text:g}x"
        try:
            read = parse_slope if change.slow else parse_gain
            expected = read(str(expected_text))
        except ValueError:
            allowed = (
                f'one of {", ".join(SLOPES)}, or a range such as "0.5 to 1"'
                if change.slow
                else 'a gain: "2x", "2-3x", "<1.1x" or ">5x"'
            )
            raise self._wrong(*where, "expected", f"{expected_text!r} is not {allowed}") from None
        confidence = self._text(table, "confidence", *where) or "medium"
        if confidence not in CONFIDENCES:
            allowed = ", ".join(CONFIDENCES)
            raise self._wrong(*where, "confidence", f"{confidence!r} is not one of {allowed}")
        return Hypothesis(name, claim, change, expected, str(expected_text), confidence)

    def _change(self, table: dict[str, Any], index: int) -> Change:
        where = ("hypothesis", index)
        if not any(key in table for key in CHANGE_KEYS):
            raise self._missing(f"one of {', '.join(CHANGE_KEYS)}", *where, "what it changes")
        environment = table.get("environment", {})
        if not isinstance(environment, dict) or not all(
            isinstance(value, (str, int, float)) for value in environment.values()
        ):
            raise self._wrong(*where, "environment", 'a table such as { OMP_NUM_THREADS = "1" }')
        patch = self._text(table, "patch", *where)
        if patch and not (self._path.absolute().parent / patch).is_file():
            raise self._wrong(*where, "patch", f"{patch}: no such file beside the plan")
        command = self._command(table, *where)
        change = Change(
            arguments=self._words(table, "arguments", index),
            without=self._words(table, "without", index),
            environment={str(k): str(v) for k, v in environment.items()},
            patch=patch,
            command=command.typed() if command else None,
            fix=self._fixes(table, index),
            skip=self._words(table, "skip", index),
            slow=self._slow(table, index),
        )
        if change.slow and (change.skip or change.patch or change.command or change.fix):
            raise self._wrong(
                *where, "slow", "must be the only change: delays are added to the baseline"
            )
        return change

    def _fixes(self, table: dict[str, Any], index: int) -> tuple[str, ...]:
        fixes = self._words(table, "fix", index)
        try:
            check_alterations([], [], [], list(fixes))
        except HotloopError as error:
            raise self._wrong("hypothesis", index, "fix", str(error)) from None
        return fixes

    def _slow(self, table: dict[str, Any], index: int) -> tuple[str, tuple[str, ...]] | None:
        where = ("hypothesis", index, "slow")
        slow = table.get("slow")
        if slow is None:
            return None
        example = 'write { phase = "env.step", by = ["1ms", "2ms"] }'
        if isinstance(slow, str):
            phase, _, by = slow.partition("=")
            slow = {"phase": phase, "by": by}
        if not isinstance(slow, dict) or set(slow) != {"phase", "by"}:
            raise self._wrong(*where, example)
        amounts = slow["by"] if isinstance(slow["by"], list) else [slow["by"]]
        if not isinstance(slow["phase"], str) or not slow["phase"] or not amounts:
            raise self._wrong(*where, example)
        for amount in amounts:
            try:
                check_alterations([], [f"{slow['phase']}={amount}"], [], [])
            except HotloopError as error:
                raise self._wrong(*where, str(error)) from None
        return slow["phase"], tuple(str(amount) for amount in amounts)

    # -- values --

    def _text(
        self, table: dict[str, Any], key: str, section: str, index: int, required: bool = False
    ) -> str:
        value = table.get(key)
        if value is None or value == "":
            if required:
                raise self._missing(key, section, index, "text in quotes")
            return ""
        if not isinstance(value, str):
            raise self._wrong(section, index, key, f"{value!r} is not text; put it in quotes")
        return value

    def _words(self, table: dict[str, Any], key: str, index: int) -> tuple[str, ...]:
        value = table.get(key, [])
        if isinstance(value, str):
            try:
                return tuple(shlex.split(value))
            except ValueError as error:
                raise self._wrong("hypothesis", index, key, str(error).lower()) from None
        if not isinstance(value, list) or not all(isinstance(v, (str, int, float)) for v in value):
            raise self._wrong("hypothesis", index, key, "text, or a list of texts")
        return tuple(str(word) for word in value)

    def _command(
        self, table: dict[str, Any], section: str, index: int, required: bool = False
    ) -> Command | None:
        text = self._text(table, "command", section, index, required)
        if not text:
            return None
        try:
            return parse_command(text)
        except HotloopError as error:
            raise self._wrong(section, index, "command", str(error)) from None

    def _stop_after(self, table: dict[str, Any]) -> str | None:
        steps = self._whole_number(table, "steps", 1)
        text = self._text(table, "stop_after", "baseline", 0)
        if steps is not None and text:
            raise self._wrong("baseline", 0, "stop_after", "means the same as steps; give only one")
        if text:
            self._amount("stop_after", text)
        return f"{steps}steps" if steps is not None else text or None

    def _timeout(self, table: dict[str, Any]) -> float | None:
        text = self._text(table, "timeout", "baseline", 0)
        if not text:
            return None
        limit = self._amount("timeout", text)
        if limit.what != "seconds":
            raise self._wrong("baseline", 0, "timeout", f"{text!r} is not a time, such as 10m")
        return limit.amount

    def _amount(self, key: str, text: str) -> StopAfter:
        try:
            return parse_stop_after(text)
        except HotloopError:
            allowed = "60s, 2m, 5000steps or 2episodes"
            raise self._wrong("baseline", 0, key, f"{text!r} is not {allowed}") from None

    def _whole_number(
        self,
        table: dict[str, Any],
        key: str,
        least: int,
        default: int | None = None,
        section: str = "baseline",
    ) -> int | None:
        value = table.get(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(section, 0, key, f"{value!r} is not a whole number from {least}")
        return value

    def _to_return(self, goal: dict[str, Any]) -> str | None:
        given = goal.get("to_return")
        if given is None:
            if "seeds" in goal:
                raise self._wrong("goal", 0, "seeds", "needs to_return, which is missing")
            return None
        for key in ("minimum", "stretch"):
            if key in goal:
                raise self._wrong("goal", 0, key, "is about speed; to_return replaces it")
        try:
            parse_target(str(given))
        except HotloopError:
            raise self._wrong("goal", 0, "to_return", f'{given!r} is not 195 or "auto"') from None
        return str(given)

    def _factor(self, table: dict[str, Any], key: str) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*x?\s*", str(value))
        if isinstance(value, bool) or match is None or float(match[1]) < 1:
            raise self._wrong("goal", 0, key, f'{value!r} is not a factor from 1, such as "5x"')
        return float(match[1])

    # -- what is wrong, and where --

    def _check_keys(
        self, table: dict[str, Any], allowed: tuple[str, ...], section: str, index: int
    ) -> None:
        for key in table:
            if key not in allowed:
                close = get_close_matches(key, allowed, 1)
                hint = f"did you mean {close[0]}? " if close else ""
                what = f"unknown key {key!r}; {hint}allowed are {', '.join(allowed)}"
                raise self._wrong(section, index, key, what)

    def _missing(self, key: str, section: str, index: int, what: str) -> HotloopError:
        line = self._line_of(section, index, None)
        return HotloopError(f"{self._path}, line {line}: [{section}] lacks {key}: {what}")

    def _wrong(self, section: str, index: int, key: str, what: str) -> HotloopError:
        line = self._line_of(section, index, key)
        return HotloopError(f"{self._path}, line {line}: {key}: {what}")

    def _line_of(self, section: str, index: int, key: str | None) -> int:
        """The line of a key, or of its table's header, or the first."""
        headers = re.compile(rf"\s*\[\[?\s*{re.escape(section)}\s*\]\]?")
        starts = [number for number, line in enumerate(self._lines) if headers.match(line)]
        begin = starts[min(index, len(starts) - 1)] if section and starts else -1
        if key is None:
            return max(begin, 0) + 1
        wanted = re.compile(
            rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]|\s*\[\[?\s*{re.escape(key)}\b"
        )
        for number in range(begin + 1, len(self._lines)):
            line = self._lines[number]
            if wanted.match(line):
                return number + 1
            if section and re.match(r"\s*\[", line):
                break
        return max(begin, 0) + 1
