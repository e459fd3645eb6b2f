"""Tries the fix of each finding as short interleaved pairs of runs, within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hotloop import units
from hotloop.analyze.comparing.compare import Comparison, Figures
from hotloop.analyze.comparing.judgement import FASTER, SAME, SLOWER
from hotloop.analyze.comparing.sequential import Rule
from hotloop.analyze.comparing.statistics import looks, science
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import RunSeries
from hotloop.capture import private
from hotloop.capture.proofs import (
    CEILING,
    CONFIRMED,
    FAILED,
    IS_SLOWER,
    NO_DIFFERENCE,
    NOT_TRIED,
    REFUTED,
    UNCLEAR,
    UNSAFE,
    Proof,
    TriedFix,
)
from hotloop.diagnose.finding import HEALTHY, Finding
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, check_exists
from hotloop.experiment.draft import NOT_SKIPPED
from hotloop.experiment.fixes import Fix
from hotloop.experiment.here import Job, Place
from hotloop.experiment.investigating import check_skipped, slug
from hotloop.experiment.launch import Launch, interruptible
from hotloop.experiment.measured import Measured, RunFailedError, measured
from hotloop.experiment.paired import Design, PairedRuns
from hotloop.experiment.patch import patched_copy
from hotloop.experiment.same_learning import LearningSeen
from hotloop.experiment.scratch import ScratchPlace, removed_after, why_not_again

#: Pairs that a fix should get at least, and gets at most.
FEWEST_PAIRS, MOST_PAIRS = 4, 14
#: The first check of a fix that may get more pairs than the fewest.
EARLY_LOOK = 3
#: A run's loop takes at least this long, where the program itself does.
SHORTEST_LOOP_S = 3.0
#: A confirmed gain is known well enough when its interval is this narrow, end over end.
WIDTH = 0.15
#: A run of a fix that takes this many times the baseline's is stopped: it does not help.
LATE = 4.0
#: An interval that lies this many times above a finding's ceiling is not accepted.
BEYOND = 2.0
#: The name of the baseline.
AS_IT_IS = "as it is"
#: Phases whose skipping says nothing about a fix; the loop itself has no name at times.
SAY_NOTHING = (*NOT_SKIPPED, "loop", "")


#: Why a fix was not tried.
NO_TIME = "no time left for a pair of runs; a longer --budget allows it"
INTERRUPTED = "interrupted before a pair of runs was complete"


class NoTimeError(HotloopError):
    """No pair of runs was made, so nothing is known about the fix."""


class DoesNotRunAgainError(HotloopError):
    """The unchanged program failed, so nothing can be proven."""

    def __init__(self, error: RunFailedError) -> None:
        hint = why_not_again(error.run.last_lines)
        super().__init__(f"{error}\nthe program does not run a second time; {hint}")


@dataclass(frozen=True)
class ProofRule(Rule):
    """Run pairs until there is clearly no gain, or the gain is known precisely enough."""

    most: int = MOST_PAIRS

    @property
    def schedule(self) -> list[int]:
        planned = looks(self.most)
        # A large gain is clear after three pairs; looking then costs little where more are to come.
        return [EARLY_LOOK, *planned] if self.most > FEWEST_PAIRS else planned

    def enough(self, comparison: Comparison) -> bool:
        whole = comparison.whole
        if comparison.pairs >= self.most or whole.verdict in (SAME, SLOWER):
            return True
        if whole.verdict != FASTER or not whole.low or not whole.high:
            return False
        return whole.high <= whole.low * (1 + WIDTH) or whole.low >= 1.5


class Prover:
    """Tries every fix of every finding, the likeliest first, then the confirmed ones together."""

    def __init__(
        self,
        command: Command,
        analysis: Analysis,
        findings: Sequence[Finding],
        fixes_of: Callable[[Finding], list[Fix]],
        folder: Path,
        place: Place,
        say: Callable[[str], None],
        budget_s: float,
        allow_learning_changes: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        science()  # fail now, not after the first runs
        check_exists(command)
        self.command = replace(command, options=(*command.options, "--weights"))
        self.analysis = analysis
        self.findings = [each for each in findings if each.severity != HEALTHY]
        self.fixes_of = fixes_of
        self.folder = folder
        #: Copies of the program: one with patches applied, and one that each run works in.
        self._scratch = folder / "scratch"
        self.place = place
        self.say = say
        self.allow_learning_changes = allow_learning_changes
        self.clock = clock
        self._begin = clock()
        self._end = self._begin + budget_s
        self.proof = Proof(str(command), str(folder), budget_s)
        self._confirmed: list[tuple[Finding, Fix]] = []
        self._stopped = False
        run = analysis.run
        #: Whether the unchanged program is known to run again.
        self._runs_again = False
        #: The time of a run outside its loop, including the start of Python and hotloop.
        self._aside_s = max(run.wall_s - run.loop_s, 0.0) + 1.0
        self._run_s = run.wall_s
        #: Whether the capture is of a run that came to its end.
        self._was_whole = not analysis.notes.stop_reached

    def go(self) -> Proof:
        """Everything, in order; Ctrl-C keeps what is done."""
        with removed_after(self._scratch):
            self.proof.interrupted = interruptible(self._all)
        self.proof.spent_s = self.clock() - self._begin
        return self.proof

    def _all(self) -> None:
        plan = [(finding, self._allowed(finding)) for finding in self.findings]
        tries = sum(bool(fixes) for _, fixes in plan)
        self._plan_runs(max(tries, 1))
        self.say(
            "no finding has a fix to try"
            if not tries
            else f"{tries} of {units.plural(len(plan), 'finding')} to try; a pair of runs takes "
            f"about {2 * self._run_s:.0f} s, all of it at most {self._end - self.clock():.0f} s"
        )
        left = tries + (tries > 1)
        for finding, fixes in plan:
            if fixes:
                self._try_each(finding, fixes, self._share(left))
                left -= 1
        if len(self._confirmed) > 1:
            self._together()
        for finding, fixes in plan:
            if not fixes:
                self._bound(finding)

    def _allowed(self, finding: Finding) -> list[Fix]:
        allowed = []
        for fix in self.fixes_of(finding):
            if fix.changes_learning and not self.allow_learning_changes:
                why = "it changes learning; --allow-learning-changes tries it"
                self.proof.tried.append(_tried(finding.id, fix, NOT_TRIED, why=why))
            else:
                allowed.append(fix)
        return allowed

    def _plan_runs(self, tries: int) -> None:
        """How many steps each run makes: as many as recorded, or as the budget allows."""
        run = self.analysis.run
        share = (self._end - self.clock()) / tries
        loop_s = max(share / (2 * (FEWEST_PAIRS + 1)) - self._aside_s, SHORTEST_LOOP_S)
        if run.env_steps and run.steps_per_s:
            steps = max(int(run.steps_per_s * loop_s), 2 * steps_before_learning(self.analysis), 1)
            steps = min(run.env_steps, steps)
            self.proof.stop_after = f"{steps}steps"
            loop_s = steps / run.steps_per_s
        else:
            loop_s = min(loop_s, run.loop_s)
            self.proof.stop_after = f"{max(loop_s + run.startup_s, 1.0):.0f}s-total"
        self._run_s = loop_s + self._aside_s

    def _check_baseline(self) -> None:
        """Run the unchanged program: if it fails, nothing can be proven."""
        if self._runs_again:
            return
        launch = Launch(
            AS_IT_IS, self.command, str(self.folder / "as-it-is"), self.proof.stop_after
        )
        place = ScratchPlace.unlimited(self.place, self._scratch / "run")
        for _, outcomes in place.outcomes([Job(-1, (launch,))]):
            try:
                measured(outcomes[0], launch)
            except RunFailedError as error:
                raise DoesNotRunAgainError(error) from None
        self._runs_again = True

    def _share(self, left: int) -> float:
        """The deadline of the next fix: the remaining time divided evenly, if that is enough.

        A clear result for the likeliest fix is worth more than unclear ones for all.
        """
        now = self.clock()
        fewest_s = FEWEST_PAIRS * 2 * self._run_s
        return min(now + max((self._end - now) / max(left, 1), fewest_s), self._end)

    # -- one finding --

    def _try_each(self, finding: Finding, fixes: list[Fix], until: float) -> None:
        """Try its fixes one after the other, until one is confirmed."""
        for number, fix in enumerate(fixes, 1):
            self.say(f"{finding.id}: {fix.name}")
            tried = self._try([finding], [fix], until)
            self.proof.tried.append(tried)
            self._say_result(tried)
            if self._stopped:
                rest = [_tried(finding.id, f, NOT_TRIED, why=INTERRUPTED) for f in fixes[number:]]
                self.proof.tried += rest
                raise KeyboardInterrupt
            if tried.verdict == CONFIRMED:
                self._confirmed.append((finding, fix))
                return

    def _together(self) -> None:
        findings, fixes = map(list, zip(*self._confirmed, strict=True))
        self.say(f"together: {', '.join(fix.name for fix in fixes)}")
        self.proof.together = self._try(findings, fixes, self._end)
        self._say_result(self.proof.together)

    def _try(self, of: list[Finding], fixes: list[Fix], until: float) -> TriedFix:
        """The fixes of some findings, at once."""
        finding = of[0].id if len(of) == 1 else ""
        # A fix of work before the loop makes the run faster, not the loop.
        of_run = any(each.is_of_run for each in of)
        folder = self.folder / slug(finding or "together") / slug(fixes[0].name)
        learned = LearningSeen()
        all_fixes = _joined(fixes)
        try:
            command = self._changed(fixes, folder)
            runs = self._pairs(command, all_fixes.name, folder, until, learned, all_fixes, of_run)
        except DoesNotRunAgainError:
            raise
        except RunFailedError as error:
            self._check_baseline()
            last = error.run.last_lines[-1:] or ["it printed nothing"]
            why = f"{error.run.why}: {last[0]}"
            return _tried(finding, all_fixes, FAILED, why=why)
        except NoTimeError as error:
            return _tried(finding, all_fixes, NOT_TRIED, why=str(error))
        except HotloopError as error:
            return _tried(finding, all_fixes, FAILED, why=str(error))
        result = runs.verdict()
        if finding and _is_beyond(result, of[0].ceiling) and not of_run:
            result = _with_waiting(runs)
        verdict, why = _verdict(result)
        if verdict == CONFIRMED and learned.are_other and all(f.keeps_weights for f in fixes):
            verdict, why = UNSAFE, "faster, but the weights differ, which this change must not do"
        before, after = learned.returns()
        return replace(
            _tried(finding, all_fixes, verdict, result, why),
            weights=learned.verdict(),
            return_before=before,
            return_after=after,
        )

    def _changed(self, fixes: list[Fix], folder: Path) -> Command:
        command = self.command
        for fix in fixes:
            command = fix.on(command)
        diffs = [fix.diff for fix in fixes if fix.diff]
        if not diffs:
            return command
        patches = []
        private.make_folder(folder, exist_ok=True)
        for number, diff in enumerate(diffs):
            patches.append(folder / f"fix-{number}.patch")
            private.write_text(patches[-1], diff)
        program = Path(command.folder or ".").absolute()
        copy = patched_copy(program, patches, self._scratch / "patched")
        return replace(command, folder=str(copy.absolute()))

    def _pairs(
        self,
        command: Command,
        name: str,
        folder: Path,
        until: float,
        learned: LearningSeen,
        fix: Fix | None,
        of_run: bool = False,
    ) -> PairedRuns:
        pair_s = 2 * self._run_s
        most = min(max(int((until - self.clock()) / pair_s), FEWEST_PAIRS), MOST_PAIRS)
        design = Design(
            ProofRule(any_work=True, most=most),
            warm_up=0,  # the capture's own run warmed the file cache
            # A short run would make too much of what is done once.
            stop_after=None if of_run and self._was_whole else self.proof.stop_after,
            of_run=of_run,
            timeout_s=max(LATE * self._run_s, 60.0),
        )
        program = Path(self.command.folder or ".").absolute().name
        scratch = self._scratch / "run"
        place = ScratchPlace(self.place, scratch, until, pair_s, self.clock, program)
        runs = PairedRuns(
            (self.command, command), (AS_IT_IS, name), design, folder, place, self.say
        )

        def check(first: Measured, second: Measured) -> None:
            self._runs_again = True
            check_skipped(first, second)
            if fix is not None:
                _check_effect(fix, second.analysis)
            learned.see(first, second)

        runs.check = check
        result = runs.go()
        if runs.error is not None:
            if runs.error.run.name == AS_IT_IS and not self._runs_again:
                raise DoesNotRunAgainError(runs.error)
            raise runs.error
        self._stopped = result.interrupted
        if not result.comparison.pairs:
            raise NoTimeError(INTERRUPTED if result.interrupted else NO_TIME)
        self._run_s = place.job_s / 2
        return runs

    def _say_result(self, tried: TriedFix) -> None:
        gain = f", {tried.gain:.2f} times" if tried.gain is not None else ""
        self.say(f"{tried.fix}: {tried.verdict}{gain}{f' ({tried.why})' if tried.why else ''}")

    # -- a finding without a fix --

    def _bound(self, finding: Finding) -> None:
        """Measure the most that any fix of the finding's phase could gain."""
        if any(each.finding == finding.id for each in self.proof.tried):
            return
        nothing = Fix("", "")
        phase = finding.phase
        if phase in SAY_NOTHING or self._end - self.clock() < 2 * FEWEST_PAIRS * self._run_s:
            why = "no fix can be applied automatically"
            self.proof.tried.append(_tried(finding.id, nothing, NOT_TRIED, why=why))
            return
        self.say(f"{finding.id}: no fix can be applied automatically; the ceiling without {phase}")
        command = replace(self.command, options=(*self.command.options, "--skip", phase))
        folder = self.folder / slug(finding.id) / "without"
        try:
            runs = self._pairs(command, f"without {phase}", folder, self._end, LearningSeen(), None)
        except DoesNotRunAgainError:
            raise
        except HotloopError as error:
            reason = str(error).splitlines()[0]
            why = f"no fix can be applied automatically, and no ceiling: {reason}"
            self.proof.tried.append(_tried(finding.id, nothing, NOT_TRIED, why=why))
            return
        why = f"no fix can be applied automatically; none can gain more than skipping {phase}"
        skipped = Fix(f"without {phase}", "")
        self.proof.tried.append(_tried(finding.id, skipped, CEILING, runs.verdict(), why))
        self._say_result(self.proof.tried[-1])


def _check_effect(fix: Fix, analysis: Analysis) -> None:
    """Fail if the fix changed no call: the program would be compared with itself."""
    for each in fix.fixes:
        if not sum(notes.fixes.get(each, 0) for notes in analysis.all_notes):
            raise HotloopError(f"{each} never took effect: the program makes no such call")


def _is_beyond(comparison: Comparison, ceiling: float | None) -> bool:
    """Whether a gain is far above what removing the finding's whole cost could bring.

    Time spent waiting for a core is taken out of both sides; where that is nearly all of a short
    run, little is left to divide by.
    """
    return ceiling is not None and (comparison.whole.low or 0.0) > BEYOND * ceiling


def _with_waiting(runs: PairedRuns) -> Comparison:
    """The verdict on plain wall-clock time, in which nothing is estimated."""

    def plain(figures: Figures) -> Figures:
        return replace(figures, seconds=figures.seconds / (1.0 - figures.waited))

    pairs = [(plain(a), plain(b)) for a, b in runs.pairs]
    return runs.design.rule.verdict(pairs, runs.verdict().unit, runs.names)


def steps_before_learning(analysis: Analysis) -> int:
    """Environment steps by the end of the window with the first gradient step; 0 without any.

    A comparison that ends before is one of another loop.
    """
    steps = 0.0
    for point in RunSeries(analysis).points:
        steps += point.steps
        if point.updates:
            return int(steps)
    return 0


def _verdict(comparison: Comparison) -> tuple[str, str]:
    whole = comparison.whole
    if whole.verdict == FASTER:
        return CONFIRMED, ""
    if whole.verdict == SLOWER:
        return REFUTED, IS_SLOWER
    if whole.verdict == SAME:
        return REFUTED, NO_DIFFERENCE
    pairs = "one pair was" if comparison.pairs == 1 else f"{comparison.pairs} pairs were"
    return UNCLEAR, f"{pairs} not enough to tell"


def _tried(
    finding: str, fix: Fix, verdict: str, comparison: Comparison | None = None, why: str = ""
) -> TriedFix:
    whole = comparison.whole if comparison else None
    return TriedFix(
        finding,
        fix.name,
        verdict,
        whole.estimate if whole else None,
        whole.low if whole else None,
        whole.high if whole else None,
        comparison.pairs if comparison else 0,
        learning=fix.learning,
        why=why,
        how=fix.how,
        diff=fix.diff,
    )


def _joined(fixes: list[Fix]) -> Fix:
    """Several fixes as one."""
    if len(fixes) == 1:
        return fixes[0]
    learning = sorted({fix.learning for fix in fixes if fix.learning})
    return Fix(
        " + ".join(fix.name for fix in fixes),
        "; ".join(fix.how for fix in fixes),
        fixes=tuple(each for fix in fixes for each in fix.fixes),
        every=tuple(each for fix in fixes for each in fix.every),
        diff="".join(fix.diff for fix in fixes),
        learning="; ".join(learning),
    )
