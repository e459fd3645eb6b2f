"""Slow images: frames drawn and resized in every step."""

from __future__ import annotations

import re

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    Match,
    Use,
    calls_of,
    finding,
    gauge,
    in_package,
    inner_lines,
    of_loop,
    program_line,
    samples_under,
    seconds_in,
    use_by,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.diagnose.naming import by_name
from hotloop.diagnose.recorded import use_with_lines
from hotloop.diagnose.rules.environments.environment_samples import (
    SMALLEST_PART,
    InsideSteps,
    inside_steps,
)

#: Libraries that draw.
_DRAWS = in_package("matplotlib", "pygame", "pyglet", "OpenGL", "turtle", "tkinter", "ImageDraw")
#: The same where C does the work, as a line of the program names it.
_DRAW_CALLS = frozenset(["pygame.draw.", "pygame.display.", "pygame.surfarray.", "blit",
                         "cv2.circle", "cv2.rectangle", "cv2.line", "cv2.ellipse", "cv2.putText",
                         "cv2.fillPoly", "cv2.polylines", "cv2.imshow"])  # fmt: skip
_RESIZE_CALLS = frozenset(["resize", "zoom", "pygame.transform.", "cv2.pyrDown", "cv2.warpAffine",
                           "thumbnail", "interpolate"])  # fmt: skip
#: The same if nothing else but an image can be resized.
_PICTURES = in_package("cv2", "PIL", "skimage", "scipy/ndimage", "torchvision", "imageio")
_OF_FRAMES = re.compile(r"frame|image|img|pixel|screen|observation|obs(?:_|$)|warp", re.IGNORECASE)
_PICTURE_CALLS = frozenset(["cv2.resize", "cv2.pyrDown", "cv2.warpAffine", "pygame.transform.",
                            "ndimage.zoom", "Image.resize", "img.resize", "image.resize",
                            "frame.resize", "F.interpolate", "thumbnail"])  # fmt: skip
#: Not drawing: cards, samples and the like are drawn from a deck or at random.
_RENDERS = re.compile(
    r"(?:^|\.)_?(?:render|draw|plot|paint|blit|rasteri[sz]e)"
    r"(?:$|_(?!cards?|hands?|samples?|batch|random|numbers?|actions?|noise|transitions?|from))"
)
_RESIZES = re.compile(
    r"(?:^|[._])(?:resize[d]?|rescale[d]?|zoom|downsample|downscale|thumbnail|interpolate)(?:[._]|$)"
    r"|ResizeObservation|WarpFrame",
    re.IGNORECASE,
)
#: Unused frames need not be drawn at all; an observation that is an image must be drawn
#: in some way.
RENDER_WINS = (0.85, 0.99)
REDRAW_WINS = (0.5, 0.9)
#: A better resize (fewer points, whole-number strides) is several times faster: 120 to 1000
#: steps/s in public reports.
RESIZE_WINS = (0.6, 0.96)
#: Outside environments, the function that resizes may be the whole training loop: to pictures and
#: back takes barely longer than the resizing itself.
MOST_AROUND = 2.0
#: Bytes of an observation that may be an image: one of 64 by 64 pixels. Vectors of a lidar or of a
#: humanoid's joints have up to 3 kB.
SMALLEST_IMAGE = 4096
#: With this many frames per step, rendering is part of every step, not an occasional check.
RENDERS_A_STEP = 0.2


def render_in_step(analysis: Analysis) -> list[Finding]:
    """Frames are drawn in every step."""
    if not analysis.run.env_steps:
        return []
    inside = inside_steps(analysis, "env.step", "env.render")
    use = _use(analysis, inside, _is_drawing, _DRAW_CALLS)
    observed = _is_observed(analysis, inside, use)
    # What resizes a frame that nobody sees goes away with it.
    resizing = 0.0
    if observed or _observes_images(analysis):
        resizing = _use(analysis, _in_environments(analysis), _resizes, _RESIZE_CALLS).seconds
    drawn = seconds_in(analysis, *_rendering_regions(analysis))
    seconds = max(use.seconds, drawn) - resizing
    renders = calls_of(analysis, *_rendering_regions(analysis)) / analysis.run.env_steps
    if of_loop(analysis, seconds) < SMALLEST_PART or (
        drawn > use.seconds and renders < RENDERS_A_STEP
    ):
        return []
    low, high = REDRAW_WINS if observed else RENDER_WINS
    lines = use.where() or inner_lines(samples_under(analysis, "env.render"))
    if not observed:
        lines = _drawn_for(inside) or lines
    fix = (
        "The image is the observation, so draw it more cheaply: keep what does not change "
        "(grid, walls) as an array, copy it, and paint only what moves, directly into the "
        "small image."
        if observed
        else "The agent does not see these frames. Draw only in evaluations or every few hundred "
        "steps, and make the environment without a render mode for training."
    )
    return [
        finding(
            analysis,
            "render-in-step",
            title=f"{_how_often(renders)}{by_name(lines)}: {of_loop(analysis, seconds):.0%} of "
            "the loop",
            phase="env.render" if seconds_in(analysis, "env.render") else "env.step",
            seconds=seconds,
            saves=(low, high),
            confidence=MEDIUM if observed else HIGH,
            where=lines,
            evidence={"renders_per_step": renders, "frame_is_observation": observed},
            fix=fix,
            before="frame = self.draw_everything()"
            if observed
            else "obs = env.step(a); env.render()",
            after="frame = self.background.copy(); self.paint(frame, self.moving)"
            if observed
            else "env = gym.make(name)            # no render_mode\nobs = env.step(a)",
        )
    ]


def _how_often(renders: float) -> str:
    """How many frames are drawn per step; 0 if drawing is not a separate phase."""
    if not renders:
        return "Environment steps draw frames"
    if renders >= SEVERAL:
        return f"Every environment step draws {renders:.0f} frames"
    if renders >= ABOUT_EVERY:
        return "Every environment step draws a frame"
    return f"A frame is drawn every {units.plural(1 / renders, 'environment step')}"


#: With this many frames per step, a few steps without one do not matter.
ABOUT_EVERY = 0.9
#: From this many on, it is several: a game that draws each position while a piece falls.
SEVERAL = 1.5


def _drawn_for(inside: InsideSteps) -> list[SourceLine]:
    """The outermost lines that call for drawing, which should be removed."""

    def calling(sample: Sample) -> SourceLine | None:
        drawing = [i for i, frame in enumerate(sample.frames) if _is_drawing(frame)]
        return program_line(sample.frames[drawing[-1] + 1 :]) if drawing else None

    return use_by(inside.samples, calling).where(most=1)


def _rendering_regions(analysis: Analysis) -> set[str]:
    """Names of the phases that draw: hotloop's own, and the program's regions for rendering."""
    return {"env.render"} | {p.name for p in analysis.phases if p.category == "Rendering"}


def _observes_images(analysis: Analysis) -> bool:
    return (gauge(analysis, schema.OBSERVATION_BYTES) or 0.0) >= SMALLEST_IMAGE


def _is_observed(analysis: Analysis, inside: InsideSteps, use: Use) -> bool:
    """Whether the drawing is the observation: its code says so, or the observation is an image."""
    if _observes_images(analysis) and not calls_of(analysis, "env.render"):
        return True
    words = re.compile(r"obs|observation|_get_state|pixels", re.IGNORECASE)
    observed = sum(
        sample.seconds * inside.scale
        for sample in inside.samples
        if any(_is_drawing(frame) for frame in sample.frames)
        and any(words.search(f.function) for f in sample.own)
    )
    return use.seconds > 0 and observed >= 0.5 * use.seconds


def _use(analysis: Analysis, inside: InsideSteps, match: Match, calls: frozenset[str]) -> Use:
    use = use_with_lines(analysis, inside.samples, match, calls)
    use.seconds *= inside.scale
    return use


def _is_drawing(frame: Frame) -> bool:
    return _DRAWS(frame) or _RENDERS.search(frame.function) is not None


def _resizes(frame: Frame) -> bool:
    return _RESIZES.search(frame.function) is not None


def _resizes_pictures(frame: Frame) -> bool:
    """Outside environments, actions are rescaled and weights interpolated as well."""
    return _resizes(frame) and (_PICTURES(frame) or _OF_FRAMES.search(frame.function) is not None)


def _in_environments(analysis: Analysis) -> InsideSteps:
    return inside_steps(analysis, "env.step", "env.render", "env.reset")


#: Phases in which images are not resized for the agent; a network's own layers resize too.
_NOT_PREPARING = frozenset({"import", "log", "checkpoint", "evaluate", "learn", "env.step",
                            "env.reset", "env.render"})  # fmt: skip
_NETWORK = in_package("torch/nn/modules", "keras", "flax", "haiku")


def _beside_environments(analysis: Analysis) -> InsideSteps:
    """Work of the loop on observations before it acts on them or stores them."""
    samples = [
        sample
        for sample in samples_under(analysis)
        if not any(n in _NOT_PREPARING or n.startswith("learn.") for n in sample.phases)
        and not any(_NETWORK(frame) for frame in sample.frames)
    ]
    return InsideSteps(samples, seconds_of(samples), 1.0)


def _of_seen_frames(analysis: Analysis, inside: InsideSteps) -> InsideSteps:
    """Without what draws frames that the agent does not see: `render-in-step` removes all of it."""
    drawing = _use(analysis, inside, _is_drawing, _DRAW_CALLS)
    if _observes_images(analysis) or _is_observed(analysis, inside, drawing):
        return inside
    seen = [s for s in inside.samples if not any(map(_is_drawing, s.frames))]
    return InsideSteps(seen, seconds_of(seen), inside.scale)


def _around_resizing(inside: InsideSteps, use: Use) -> float:
    """Seconds in the program's functions that resize: to pictures and back belongs to it."""
    callers = {line.code for line in use.lines}
    lines = ((s.line, s.seconds) for s in inside.samples)
    return inside.scale * sum(seconds for line, seconds in lines if line and line.code in callers)


def image_resize(analysis: Analysis) -> list[Finding]:
    """Pictures are resized in every step."""
    phase, inside = "env.step", _of_seen_frames(analysis, _in_environments(analysis))
    use = _use(analysis, inside, _resizes, _RESIZE_CALLS)
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        phase, inside = "collect", _beside_environments(analysis)
        use = _use(analysis, inside, _resizes_pictures, _PICTURE_CALLS)
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    whole = max(_around_resizing(inside, use), use.seconds)
    if phase == "collect":
        whole = min(whole, MOST_AROUND * use.seconds)
    return [
        finding(
            analysis,
            "image-resize",
            title=f"Resizing images takes {of_loop(analysis, use.seconds):.0%} of the loop"
            f"{by_name(use.where())}",
            phase=phase,
            seconds=whole,
            saves=(RESIZE_WINS[0] * use.seconds / whole, RESIZE_WINS[1]),
            confidence=MEDIUM,
            where=use.where(),
            fix="Draw at the network's input size, or downscale by whole strides or block "
            "means in NumPy; with OpenCV, use INTER_AREA and cv2.setNumThreads(1) in "
            "workers. Slow filters (LANCZOS, bicubic) do not help an agent.",
            before="obs = Image.fromarray(frame).resize((84, 84), Image.LANCZOS)",
            after="obs = frame[::k, ::k]        # or render at 84 x 84",
            learning="A different filter changes the observations slightly.",
        )
    ]


RULES: tuple[Rule, ...] = (render_in_step, image_resize)
