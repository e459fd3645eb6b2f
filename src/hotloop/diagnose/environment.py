"""Causes inside an environment's own code: what its steps, resets and drawings do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.diagnose.evidence import (
    Match,
    Use,
    calls_of,
    cores,
    finding,
    in_package,
    inner_places,
    note,
    number,
    of_loop,
    phases_named,
    program_place,
    samples_under,
    seconds_in,
    share_of,
    use_of,
    vector_size,
    workers,
)
from hotloop.diagnose.finding import HIGH, LOW, MEDIUM, Finding, Place, Rule

#: A part of the loop below this is not looked into: with 100 samples a second its own parts
#: would be counted on one hand.
SMALLEST_PART = 0.02

#: A simulator below this cannot be the bottleneck that vectorising removes: Python's own calls are.
HEAVY_STEP_S = 100e-6
#: The share that makes a run one that waits for its environment (the catalogue's 60%).
ENV_BOUND_SHARE = 0.60


@dataclass
class InsideSteps:
    """What was seen inside environments, wherever they ran, on the scale of the main loop."""

    samples: list[Sample]
    #: Seconds of the loop that the environments' own work takes.
    seconds: float
    scale: float

    def use(self, match: Match) -> Use:
        found = use_of(self.samples, match)
        found.seconds *= self.scale
        return found


def inside_steps(analysis: Analysis, *names: str) -> InsideSteps:
    """The samples of these environment phases in the main process or in its workers.

    Where workers step the environments, the main process waits for them: what they spend side by
    side is at most that wait.
    """
    phases = names or ("env.step",)
    seconds = seconds_in(analysis, *phases)
    processes: tuple[str, ...] = ("main",)
    names_of_workers = workers(analysis)
    if names_of_workers:
        processes = tuple(names_of_workers)
        busy = [seconds_in(analysis, *phases, process=name) for name in names_of_workers]
        seconds = min(_side_by_side(analysis, busy), seconds_in(analysis, "env.step", "env.reset"))
    samples = [
        sample
        for sample in samples_under(analysis, *phases, processes=processes)
        if "evaluate" not in sample.path.split("/")
    ]
    sampled = sum(sample.seconds for sample in samples)
    return InsideSteps(samples, seconds, seconds / sampled if sampled > 0 else 0.0)


def _side_by_side(analysis: Analysis, busy: list[float]) -> float:
    """How long work that is spread over processes takes with the cores that there are."""
    at_once = min(len(busy), cores(analysis) or len(busy))
    return max(sum(busy) / at_once, max(busy))


# -- libraries that are slow to call for one row --

#: A cell through pandas takes 10 to 100 microseconds, from an array 0.1: the catalogue's case
#: won 98% of a step, and what replaces it is not free.
PANDAS_WINS = (0.85, 0.985)


def pandas_in_step(analysis: Analysis) -> list[Finding]:
    """pandas is used in every step."""
    inside = inside_steps(analysis)
    use = inside.use(in_package("pandas"))
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    place = _name(use.where())
    return [
        finding(
            analysis,
            "pandas-in-step",
            title=f"pandas is asked in every environment step{place}: "
            f"{of_loop(analysis, use.seconds):.0%} of the loop",
            phase="env.step",
            seconds=use.seconds,
            low=PANDAS_WINS[0],
            high=PANDAS_WINS[1],
            confidence=HIGH,
            where=use.where(),
            evidence={"share_of_env_step": _part(use.seconds, inside.seconds)},
            fix="Each cell or row that pandas looks up costs tens of microseconds of Python. Turn "
            "the columns into NumPy arrays once, in the constructor, and index those in `step`. "
            "Rolling statistics over the table belong there too.",
            before='price = self.df.iloc[self.t]["close"]',
            after='self.close = df["close"].to_numpy()   # once, in __init__\nprice = self.close[self.t]',
        )
    ]


#: Catalogue: 2-10x of the copying part; what is left is the shallow copy.
DEEPCOPY_WINS = (0.75, 0.98)


def deepcopy_in_step(analysis: Analysis) -> list[Finding]:
    """State or infos are copied in depth all the time."""
    inside = inside_steps(analysis)
    use = inside.use(_is_deepcopy)
    phase = "env.step"
    if not use.seconds:
        phase = "collect"
        use = use_of(_loop_samples(analysis), _is_deepcopy)
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "deepcopy-in-step",
            title=f"copy.deepcopy runs in every step{_name(use.where())}: "
            f"{of_loop(analysis, use.seconds):.0%} of the loop",
            phase=phase,
            seconds=use.seconds,
            low=DEEPCOPY_WINS[0],
            high=DEEPCOPY_WINS[1],
            confidence=HIGH,
            where=use.where(),
            evidence={"share_of_env_step": _part(use.seconds, inside.seconds)},
            fix="A deep copy walks through every object in Python. Copy only what changes: arrays "
            "with `.copy()`, dictionaries with `dict(…)`; what nobody changes needs no copy.",
            before="state = copy.deepcopy(self.state)",
            after="state = {**self.state, \"board\": self.state[\"board\"].copy()}",
        )
    ]


def _is_deepcopy(frame: Frame) -> bool:
    file = frame.file.replace("\\", "/")
    return frame.function.startswith("deepcopy") and file.endswith("/copy.py")


# -- drawing and resizing --

#: Libraries that draw.
_DRAWS = in_package("matplotlib", "pygame", "pyglet", "OpenGL", "turtle", "tkinter", "ImageDraw")
_RENDERS = re.compile(r"(?:^|\.)_?(?:render|draw|plot|paint|blit|rasteri[sz]e)(?:_|$)")
_RESIZES = re.compile(
    r"(?:^|[._])(?:resize[d]?|rescale[d]?|zoom|downsample|downscale|thumbnail|interpolate)(?:[._]|$)"
    r"|ResizeObservation|WarpFrame",
    re.IGNORECASE,
)
#: Drawing that nobody looks at goes away whole; an observation that is a picture must be drawn
#: in some way.
RENDER_WINS = (0.85, 0.99)
REDRAW_WINS = (0.5, 0.9)
#: A better resize (fewer points, whole-number strides) is several times faster: 120 to 1000
#: steps/s in the catalogue.
RESIZE_WINS = (0.6, 0.96)
#: From so many frames a step on, drawing belongs to the step rather than to a look now and then.
RENDERS_A_STEP = 0.2


def render_in_step(analysis: Analysis) -> list[Finding]:
    """Frames are drawn in every step."""
    inside = inside_steps(analysis, "env.step", "env.render")
    use = inside.use(lambda f: _DRAWS(f) or (_RENDERS.search(f.function) is not None))
    drawn = sum(
        phase.total_s - 0.0 for phase in phases_named(analysis, "env.render")
    )
    seconds = max(use.seconds, drawn) - _resizing(analysis).seconds
    renders = calls_of(analysis, "env.render") / max(calls_of(analysis, "env.step"), 1)
    if of_loop(analysis, seconds) < SMALLEST_PART or (
        drawn > use.seconds and renders < RENDERS_A_STEP
    ):
        return []
    observed = _is_observed(inside, use)
    low, high = REDRAW_WINS if observed else RENDER_WINS
    places = use.where() or inner_places(samples_under(analysis, "env.render"))
    fix = (
        "The picture is the observation, so draw it cheaper: keep what does not change (grid, "
        "walls) as an array, copy it, and paint only what moves, straight into the small picture."
        if observed
        else "Nobody looks at these frames. Draw only in evaluations or every few hundred steps, "
        "and make the environment without a render mode for training."
    )
    return [
        finding(
            analysis,
            "render-in-step",
            title=f"Every environment step draws a frame{_name(places)}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="env.render" if drawn else "env.step",
            seconds=seconds,
            low=low,
            high=high,
            confidence=MEDIUM if observed else HIGH,
            where=places,
            evidence={"renders_per_step": renders, "frame_is_observation": observed},
            fix=fix,
            before="frame = self.draw_everything()" if observed else "obs = env.step(a); env.render()",
            after="frame = self.background.copy(); self.paint(frame, self.moving)"
            if observed
            else 'env = gym.make(name)            # no render_mode\nobs = env.step(a)',
        )
    ]


def _is_observed(inside: InsideSteps, use: Use) -> bool:
    """Whether what is drawn is drawn by code that makes an observation."""
    words = re.compile(r"obs|observation|_get_state|pixels", re.IGNORECASE)
    observed = sum(
        sample.seconds * inside.scale
        for sample in inside.samples
        if any(_RENDERS.search(f.function) or _DRAWS(f) for f in sample.frames)
        and any(words.search(f.function) for f in sample.frames if f.of_program)
    )
    return use.seconds > 0 and observed >= 0.5 * use.seconds


def _resizing(analysis: Analysis) -> Use:
    inside = inside_steps(analysis, "env.step", "env.render", "env.reset")
    return inside.use(lambda f: _RESIZES.search(f.function) is not None)


def image_resize(analysis: Analysis) -> list[Finding]:
    """Pictures are resized in every step."""
    use = _resizing(analysis)
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "image-resize",
            title=f"Resizing pictures takes {of_loop(analysis, use.seconds):.0%} of the loop"
            f"{_name(use.where())}",
            phase="env.step",
            seconds=use.seconds,
            low=RESIZE_WINS[0],
            high=RESIZE_WINS[1],
            confidence=MEDIUM,
            where=use.where(),
            fix="Draw at the size that the network sees, or shrink by whole strides or block means "
            "in NumPy; with OpenCV use INTER_AREA and cv2.setNumThreads(1) in workers. Slow "
            "filters (LANCZOS, bicubic) buy nothing that an agent can see.",
            before="obs = Image.fromarray(frame).resize((84, 84), Image.LANCZOS)",
            after="obs = frame[::k, ::k]        # or render at 84 x 84",
            learning="Another filter changes the observations a little.",
        )
    ]


# -- costs that grow --

#: A step that is so many times slower at the end than in the beginning has grown.
GROWN = 1.4
#: The fix brings the cost back to the beginning's or below; noise of the line is let off.
GROWTH_WINS = 0.75


def growing_step_cost(analysis: Analysis) -> list[Finding]:
    """Steps get slower as the run goes on, and the environment is why."""
    trends = analysis.trends
    trend = trends.per_call.get("env.step") if trends else None
    if trends is None or trend is None or not trend.grows or trend.ratio < GROWN:
        return []
    seconds = seconds_in(analysis, "env.step")
    spent = [(p.total_s.get("env.step", 0.0), p.calls.get("env.step", 0)) for p in trends.learning]
    first = next((s / c for s, c in spent if c), trend.first)
    calls = sum(c for _, c in spent)
    mean = sum(s for s, _ in spent) / calls if calls else 0.0
    grown = 1 - min(first, trend.first or first) / mean if mean > 0 else 0.0
    if of_loop(analysis, seconds * grown) < SMALLEST_PART:
        return []
    leak, grower = _grower(analysis)
    places = inner_places(inside_steps(analysis).samples)
    evidence = {
        "step_first_s": trend.first,
        "step_last_s": trend.last,
        "times_slower": trend.ratio,
        "p": trend.p,
        "container": grower,
    }
    named = f" (`{grower}` grows)" if grower else ""
    if leak:
        return [
            finding(
                analysis,
                "reset-leak",
                title=f"Steps get {trend.ratio:.1f} times slower because something survives "
                f"every reset{named}",
                phase="env.step",
                seconds=seconds,
                low=GROWTH_WINS * grown,
                high=_upper(grown),
                confidence=HIGH,
                where=places,
                evidence=evidence,
                fix="Objects of earlier episodes are still there and every step visits them. "
                "Clear or rebuild the container in `reset`, and close what the simulator holds.",
                before=f"def reset(self):\n    self.{grower or 'objects'}.extend(self.spawn())",
                after=f"def reset(self):\n    self.{grower or 'objects'} = self.spawn()",
            )
        ]
    return [
        finding(
            analysis,
            "growing-step-cost",
            title=f"Environment steps get ever slower: {trend.ratio:.1f} times from the beginning "
            f"to the end{named}",
            phase="env.step",
            seconds=seconds,
            low=GROWTH_WINS * grown,
            high=_upper(grown),
            confidence=HIGH,
            where=places,
            evidence=evidence,
            fix="A step looks at everything that happened before. Keep a running value (a sum, "
            "the last entry) or a window of fixed length instead of the whole history.",
            before="self.history.append(x)\nmean = np.mean(self.history)",
            after="self.total += x; self.count += 1\nmean = self.total / self.count",
        )
    ]


def _upper(grown: float) -> float:
    """At most: even the first windows have grown a little already."""
    return min(grown + 0.4 * (1 - grown), 0.99)


def _grower(analysis: Analysis) -> tuple[bool, str]:
    """(does it grow by resets?, the environment's attribute that grows)."""
    candidates = [note(analysis, "env_growth")]
    candidates += [notes.get("env_growth") for notes in analysis.worker_notes.values()]
    best: tuple[float, bool, str] = (0.0, False, "")
    for grown in candidates:
        for name, entry in (grown if isinstance(grown, dict) else {}).items():
            size = number(entry.get("size")) if isinstance(entry, dict) else None
            if size is None or size <= best[0]:
                continue
            steps, resets = number(entry.get("in_steps")), number(entry.get("in_resets"))
            each = number(entry.get("each_episode"))
            if steps is not None and resets is not None:
                leak = resets > max(steps, 0)
            else:
                # Grown by about one a step is a history; by less, something of each episode.
                leak = each is not None and each < 0.5 * (analysis.run.steps_per_episode or 0)
            best = (size, leak, str(name))
    return best[1], best[2]


#: A reset that takes as long as so many steps is not just putting the pieces back.
RESET_STEPS = 10
#: From this share on resets are a cost of their own.
RESET_SHARE = 0.08
#: Reloading is replaced by a copy of what was loaded.
RESET_WINS = (0.75, 0.985)


def slow_reset(analysis: Analysis) -> list[Finding]:
    """Resets load or build what could be kept."""
    processes = workers(analysis) or ["main"]
    seconds = seconds_in(analysis, "env.reset")
    if processes != ["main"]:
        busy = [seconds_in(analysis, "env.reset", process=name) for name in processes]
        seconds = max(seconds, _side_by_side(analysis, busy))
    resets = sum(calls_of(analysis, "env.reset", process=name) for name in processes)
    steps = analysis.run.env_steps
    if not resets or not steps or of_loop(analysis, seconds) < RESET_SHARE:
        return []
    stepping = inside_steps(analysis, "env.step").seconds
    step_s = max(stepping - seconds, 0.0) / steps
    if seconds / resets < RESET_STEPS * step_s:
        return []
    samples = samples_under(analysis, "env.reset", processes=processes)
    return [
        finding(
            analysis,
            "slow-reset",
            title=f"Resets take {of_loop(analysis, seconds):.0%} of the loop: "
            f"{seconds / resets * 1e3:.3g} ms each",
            phase="env.reset",
            seconds=seconds,
            low=RESET_WINS[0],
            high=RESET_WINS[1],
            confidence=MEDIUM,
            where=inner_places(samples),
            evidence={"resets": resets, "reset_s": seconds / resets, "step_s": step_s},
            fix="Load or build the level once and keep a snapshot; a reset then only copies it. "
            "If episodes end after a few steps, look at why.",
            before="def reset(self):\n    self.level = load_level(path)",
            after="self.start = load_level(path)      # once, in __init__\n"
            "def reset(self):\n    self.level = self.start.copy()",
        )
    ]


# -- one function that dominates --

#: A helper that is so much of the environment's time is worth a finding of its own.
HELPER_SHARE = 0.45
#: The catalogue's cases won 5.2x (0.81) and two orders of magnitude.
REDUNDANT_WINS = (0.7, 0.97)
#: Helpers with these words in their names are the simulation itself, not work beside it.
_SIMULATES = re.compile(
    r"simulat|physic|dynamic|integrat|substep|sub_step|advance|propagate|euler|rk4|runge|solve|"
    r"collision|collide|kinematic|tick|evolve|_step$|\.step$|step_|_move|world",
    re.IGNORECASE,
)


def redundant_work(analysis: Analysis) -> list[Finding]:
    """One helper of the environment, such as building the observation, is most of a step."""
    inside = inside_steps(analysis)
    if of_loop(analysis, inside.seconds) < SMALLEST_PART:
        return []
    helper, seconds, line = _helper(inside)
    if helper is None or seconds < HELPER_SHARE * inside.seconds:
        return []
    if of_loop(analysis, seconds) < SMALLEST_PART or _SIMULATES.search(helper.function):
        return []
    name = helper.function.rpartition(".")[2]
    return [
        finding(
            analysis,
            "redundant-work-in-step",
            title=f"{name} is {_part(seconds, inside.seconds):.0%} of every environment step and "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="env.step",
            seconds=seconds,
            low=REDUNDANT_WINS[0],
            high=REDUNDANT_WINS[1],
            confidence=MEDIUM,
            where=[Place(helper.file, line, helper.function)],
            evidence={"function": helper.function, "share_of_env_step": _part(seconds, inside.seconds)},
            fix=f"`{name}` is computed anew in every step. What depends only on the data (rolling "
            "statistics, features) can be computed once for all times; what changes little from "
            "step to step (distances, reachable cells) can be kept and updated, or vectorised.",
            before=f"obs = self.{name}(self.t)           # in step",
            after=f"self.table = {name}_for_all_times()  # once, in __init__\nobs = self.table[self.t]",
        )
    ]


def _helper(inside: InsideSteps) -> tuple[Frame | None, float, int]:
    """The program's function below the step itself with the most time, and its hot line."""
    totals: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], dict[int, float]] = {}
    frames: dict[tuple[str, str], Frame] = {}
    for sample in inside.samples:
        for frame in _below_step(sample):
            key = (frame.file, frame.function)
            totals[key] = totals.get(key, 0.0) + sample.seconds * inside.scale
            frames[key] = frame
            table = lines.setdefault(key, {})
            table[frame.line] = table.get(frame.line, 0.0) + sample.seconds
    if not totals:
        return None, 0.0, 0
    most = max(totals.values())
    # The innermost of those that hold nearly all of it says best where.
    key = [key for key in totals if totals[key] >= 0.8 * most][-1]
    named = [k for k in totals if totals[k] >= 0.8 * most and not _SIMULATES.search(k[1])]
    key = max(named, key=lambda k: totals[k]) if named else key
    return frames[key], totals[key], max(lines[key], key=lambda line: lines[key][line])


def _below_step(sample: Sample) -> list[Frame]:
    """The program's frames inside the innermost `step`, each function once."""
    found: dict[tuple[str, str], Frame] = {}
    for frame in sample.frames:  # from the inside out
        name = frame.function.rpartition(".")[2]
        if name in ("step", "step_wait", "step_async", "_step", "env_step"):
            return list(found.values())
        if frame.of_program and not name.startswith("<"):
            found.setdefault((frame.file, frame.function), frame)
    return []


# -- the simulator itself --


def env_bound(analysis: Analysis) -> list[Finding]:
    """The run waits for its environment, and nothing more can be said."""
    inside = inside_steps(analysis)
    steps = analysis.run.env_steps
    if not steps or of_loop(analysis, inside.seconds) < ENV_BOUND_SHARE:
        return []
    each = inside.seconds / steps
    if each < HEAVY_STEP_S:
        return []
    at_once = cores(analysis) or 1
    return [
        finding(
            analysis,
            "env-bound",
            title=f"The environment is {of_loop(analysis, inside.seconds):.0%} of the loop: "
            f"{each * 1e3:.2g} ms a step",
            phase="env.step",
            seconds=inside.seconds,
            low=0.3,
            high=0.75,
            confidence=LOW,
            where=inner_places(inside.samples),
            evidence={"step_s": each, "envs": vector_size(analysis), "cores": at_once},
            fix="The simulator itself is what takes the time. Step several environments in "
            f"processes of their own (there are {at_once} cores), write its inner loop with NumPy "
            "or a compiler, or simulate less exactly; EnvPool and the like do this for known ones.",
            before="env = gym.make(name)",
            after="env = gym.vector.AsyncVectorEnv([make] * cores)",
            learning="More environments at once change the order of the data: raise the rollout "
            "or lower the learning rate only if the return suffers.",
        )
    ]


# -- shared --


def _loop_samples(analysis: Analysis) -> list[Sample]:
    return [s for s in samples_under(analysis) if "evaluate" not in s.path.split("/")]


def _name(places: list[Place]) -> str:
    return f" by {places[0].function.rpartition('.')[2]}" if places else ""


def _part(seconds: float, whole: float) -> float:
    return min(seconds / whole, 1.0) if whole > 0 else 0.0


RULES: tuple[Rule, ...] = (
    pandas_in_step,
    deepcopy_in_step,
    render_in_step,
    image_resize,
    growing_step_cost,
    slow_reset,
    redundant_work,
    env_bound,
)


def rules(analysis: Analysis) -> list[Finding]:
    """The findings of this family."""
    return [each for rule in RULES for each in rule(analysis)]
