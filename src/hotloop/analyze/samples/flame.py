"""One tree from the whole loop down to lines: phases first, then the functions inside each.

Phases are timed exactly; functions are sampled. So a phase's own time is shared out among the
functions seen in it, and the tree adds up to the loop at every level. What is too small to be
shown is left out of the tree and kept as a number in the node above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hotloop.analyze.model import Analysis, Frame, Phase, Sample, seconds_of
from hotloop.phases import DEFAULT_CATEGORY, NO_PHASE_LABEL

#: Below this share of the whole a box is narrower than a pixel on any screen.
SMALLEST_SHARE = 0.0002
#: Boxes in one tree, which keeps the page of an hour-long run well below a megabyte.
MOST_BOXES = 2500
#: Lines listed of one function.
MOST_LINES = 5

#: A stack's outer frames are left out while nearly all stacks of a phase share them; the few that
#: do not are samples on the way in or out.
MOSTLY = 0.95
#: A library's function that does nearly nothing but call another is left out.
ONLY_CALLS = 0.98

ROOT, PHASE, FUNCTION = "root", "phase", "function"

#: File, function and first line, which identify a function.
_Name = tuple[str, str, int]


@dataclass
class Box:
    """A node of the tree: the loop, a phase, or a function inside a phase."""

    kind: str
    name: str
    category: str
    path: str
    total_s: float = 0.0
    self_s: float = 0.0
    #: Time of inner nodes that are too small to be shown.
    hidden_s: float = 0.0
    waiting_s: float = 0.0
    calls: int = 0
    file: str = ""
    line: int = 0
    of_program: bool = False
    #: Functions between the box above and this one that did nearly nothing but call it.
    skipped: int = 0
    #: Line -> seconds in it and in its calls, largest first.
    lines: dict[int, float] = field(default_factory=dict)
    inside: list[Box] = field(default_factory=list)

    @property
    def waiting_share(self) -> float:
        return self.waiting_s / self.total_s if self.total_s > 0 else 0.0

    def walk(self) -> Iterator[Box]:
        """This box and all inside it, from the outside in."""
        waiting = [self]
        while waiting:
            box = waiting.pop()
            yield box
            waiting += reversed(box.inside)


def flame(
    analysis: Analysis, processes: Iterable[str] = ("main",), most: int = MOST_BOXES
) -> Box | None:
    """The tree of these processes together, pruned; None if nothing was measured."""
    wanted = set(processes)
    root = Box(ROOT, "training loop", DEFAULT_CATEGORY, "")
    phases = [p for p in analysis.phases if p.process in wanted and p.thread == "main"]
    boxes = _phase_boxes(root, phases)
    if "main" in wanted:
        outside = Box(
            PHASE, NO_PHASE_LABEL, NO_PHASE_LABEL, "", analysis.outside_s, analysis.outside_s
        )
        boxes[""] = outside
        root.inside.append(outside)
    by_path: dict[str, list[Sample]] = {}
    for sample in analysis.samples:
        if sample.process in wanted and sample.path in boxes:
            by_path.setdefault(sample.path, []).append(sample)
    for path, samples in by_path.items():
        _add_functions(boxes[path], samples)
    root.total_s = sum(box.total_s for box in root.inside)
    if root.total_s <= 0:
        return None
    _prune(root, most)
    return root


def _phase_boxes(root: Box, phases: list[Phase]) -> dict[str, Box]:
    """A box for each path; phases of several processes at the same path are one."""
    boxes: dict[str, Box] = {}
    for phase in phases:
        box = boxes.get(phase.path)
        if box is None:
            box = Box(PHASE, phase.name, phase.category, phase.path)
            boxes[phase.path] = box
        box.total_s += phase.total_s
        box.self_s += phase.self_s
        box.calls += phase.calls
    for path, box in boxes.items():
        boxes.get(path.rpartition("/")[0], root).inside.append(box)
    return boxes


def _add_functions(phase: Box, samples: list[Sample]) -> None:
    sampled_s = seconds_of(samples)
    if sampled_s <= 0 or phase.self_s <= 0:
        return
    scale = phase.self_s / sampled_s
    trunk = _trunk(samples, sampled_s)
    nodes: dict[tuple[int, str, str, int], Box] = {}
    for sample in samples:
        seconds = sample.seconds * scale
        frames = sample.frames[::-1]
        above = phase
        for frame in frames[_shared(frames, trunk) :]:
            above = _function_box(nodes, above, frame, phase)
            above.total_s += seconds
            above.waiting_s += seconds if sample.waiting else 0.0
            above.lines[frame.line] = above.lines.get(frame.line, 0.0) + seconds
        if above is not phase:
            above.self_s += seconds


def _function_box(
    nodes: dict[tuple[int, str, str, int], Box], above: Box, frame: Frame, phase: Box
) -> Box:
    key = (id(above), frame.file, frame.function, frame.first_line)
    box = nodes.get(key)
    if box is None:
        box = Box(FUNCTION, frame.function, phase.category, phase.path)
        box.file, box.line, box.of_program = frame.file, frame.first_line, frame.of_program
        nodes[key] = box
        above.inside.append(box)
    return box


def _trunk(samples: list[Sample], sampled_s: float) -> list[_Name]:
    """The outer frames that nearly all stacks share: how the program came to the phase.

    The last of them, the function that the phase is in, is not among them.
    """
    trunk: list[_Name] = []
    left = samples
    while True:
        seconds: dict[_Name, float] = {}
        for sample in left:
            if len(sample.frames) > len(trunk):
                name = _name(sample.frames[-1 - len(trunk)])
                seconds[name] = seconds.get(name, 0.0) + sample.seconds
        largest = max(seconds, key=lambda name: seconds[name]) if seconds else None
        if largest is None or seconds[largest] < MOSTLY * sampled_s:
            return trunk[:-1]
        depth = len(trunk)
        trunk.append(largest)
        left = [s for s in left if len(s.frames) > depth and _name(s.frames[-1 - depth]) == largest]


def _shared(frames: tuple[Frame, ...], trunk: list[_Name]) -> int:
    """How many of a stack's outer frames are the trunk's."""
    for depth, (frame, name) in enumerate(zip(frames, trunk, strict=False)):
        if _name(frame) != name:
            return depth
    return min(len(trunk), max(len(frames) - 1, 0))


def _name(frame: Frame) -> _Name:
    return frame.file, frame.function, frame.first_line


def _prune(root: Box, most: int) -> None:
    """Leave out boxes that only call another or are too small, until few enough are left."""
    for box in root.walk():
        box.inside = [_without_callers(inner) for inner in box.inside]
    smallest_s = root.total_s * SMALLEST_SHARE
    sizes = sorted((box.total_s for box in root.walk()), reverse=True)
    if len(sizes) > most:
        smallest_s = max(smallest_s, sizes[most])
    for box in root.walk():
        kept = [inner for inner in box.inside if inner.total_s > smallest_s]
        box.hidden_s = sum(inner.total_s for inner in box.inside if inner.total_s <= smallest_s)
        box.inside = sorted(kept, key=lambda inner: (inner.kind != PHASE, -inner.total_s))
        ordered = sorted(box.lines, key=lambda line: -box.lines[line])[:MOST_LINES]
        box.lines = {line: box.lines[line] for line in ordered}


def _without_callers(box: Box) -> Box:
    """The first box inside this one that does something, or this."""
    skipped = 0
    while box.kind == FUNCTION and not box.of_program and box.inside:
        inner = max(box.inside, key=lambda each: each.total_s)
        if inner.total_s < ONLY_CALLS * box.total_s:
            break
        box, skipped = inner, skipped + 1
    box.skipped = skipped
    return box
