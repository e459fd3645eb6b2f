"""Shared by all pictures: matplotlib without a display, one style, reproducible files.

matplotlib comes with `hotloop[pictures]` and is imported only here. The user's settings are neither
used nor changed.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from itertools import pairwise
from textwrap import wrap
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hotloop.errors import HotloopError
from hotloop.report.console.terminal import clean, fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
#: Letters in one line of a title.
TITLE = 84
WARNING_COLUMNS = 125
WARNING = "#8a5300"  # as on the page

TEXT, MUTED, FAINT, LINE, ACCENT = "#1b1f24", "#5b6570", "#88919b", "#c9ced5", "#1f5fbf"
GOOD, BAD, DOUBT, PALE = "#1c6b45", "#b4233c", "#8f5a06", "#dbe7f8"
OTHER = "#b9aeb4"

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": TEXT,
    "text.color": TEXT,
    "text.parse_math": False,  # a name may contain dollar signs
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "hotloop",  # the same figures give the same file
}


def need_matplotlib() -> ModuleType:
    """matplotlib, or one line that names the extra."""
    try:
        import matplotlib
    except ImportError:
        raise HotloopError("a picture needs matplotlib: pip install 'hotloop[pictures]'") from None
    return matplotlib


def drawn(format: str, inches: tuple[float, float], paint: Callable[[Figure], None]) -> bytes:
    """A file of that format, painted by `paint`."""
    matplotlib = need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with warnings.catch_warnings(), matplotlib.rc_context(_STYLE):
        # matplotlib warns about every character that its font lacks; the picture shows a box.
        warnings.simplefilter("ignore")
        figure = Figure(figsize=inches, dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        paint(figure)
        _settle(figure)
        buffer = io.BytesIO()
        metadata = {"Date": None} if format == "svg" else {"Software": "hotloop"}
        figure.savefig(buffer, format=format, dpi=DPI, metadata=metadata)
    return buffer.getvalue()


def _settle(figure: Figure) -> None:
    """Round the computed layout: its last digits differ between runs."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(each, 5) for each in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def heading(axes: Axes, title: str, below: str, warning: str = "") -> None:
    """The result and the commands; above them, a warning about all figures."""
    axes.axis("off")
    axes.set_ylim(0, 1)
    if warning:
        said = "\n".join(wrap(clean(warning), WARNING_COLUMNS))
        _line(axes, 1.0, said, fontsize=9, color=WARNING, fontweight="bold", va="top")
    lines = wrap(fit(clean(title), 2 * TITLE).rstrip(), TITLE)
    size = 13 if len(lines) == 1 else 11.5
    top = 0.64 if warning else 1.0
    _line(axes, top, "\n".join(lines), fontsize=size, fontweight="bold", va="top")
    _line(axes, 0.1, clean(below), color=MUTED, va="center")


#: Where a heading begins, as a part of the picture's width.
_EDGE = 0.012


def _line(axes: Axes, y: float, text: str, **style: Any) -> None:
    """A line of a heading: from the picture's edge, however wide the labels of the axes are."""
    from matplotlib.transforms import blended_transform_factory

    assert axes.figure is not None
    across = blended_transform_factory(axes.figure.transFigure, axes.transAxes)
    # Outside the layout: a long line would make the axes below it narrower.
    axes.text(_EDGE, y, text, transform=across, **style).set_in_layout(False)


def legend_columns(names: list[str], columns: int, letters: int) -> int:
    """The number of columns, at most `columns`, with which these names fit a line of `letters`."""
    for count in range(columns, 1, -1):
        # As matplotlib does it: the first columns hold one name more.
        rows, longer = divmod(len(names), count)
        starts = [nth * rows + min(nth, longer) for nth in range(count + 1)]
        parts = [names[begin:end] for begin, end in pairwise(starts)]
        if sum(max(map(len, part), default=0) for part in parts) <= letters:
            return count
    return 1


def shade(color: str, nth: int) -> str:
    """A category's color for its nth phase, alternately darker and lighter."""
    towards = (48, 54, 61) if nth % 2 else (255, 255, 255)
    strength = min(0.22 * nth, 0.6)
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    mixed = [round(p + (t - p) * strength) for p, t in zip(parts, towards, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)
