"""One color per category, the same in every view: the page, the pictures, the live view.

Light enough that dark text on them reads well (at least 7:1), and distinct in lightness as well
as by hue where categories meet most often.
"""

from __future__ import annotations

from typing import Final

from hotloop.phases import NO_PHASE_LABEL

CATEGORY_COLORS: Final[dict[str, str]] = {
    "Environment": "#7cc492",
    "Rendering": "#bccb62",
    "Policy": "#7db5ec",
    "Model": "#ab9ff0",
    "Training": "#a9b8cb",
    "Buffer": "#f2bf5e",
    "Transfer": "#f09468",
    "Waiting": "#cbc5bd",
    "Logging": "#cda983",
    "Data": "#67c5c3",
    "Custom": "#e59dc6",
    NO_PHASE_LABEL: "#dfe2e7",
}

#: For a category of the program's own.
OTHER_COLORS: Final = ("#e59dc6", "#d3b2e8", "#9ed3a6", "#e8c49a", "#93c7d8", "#e0a7a0")


def colors(categories: list[str]) -> dict[str, str]:
    """A color for each of these; a program's own categories get the spare ones in turn."""
    known = dict(CATEGORY_COLORS)
    spare = [name for name in categories if name not in known]
    known.update((name, OTHER_COLORS[i % len(OTHER_COLORS)]) for i, name in enumerate(spare))
    return {name: known[name] for name in [*CATEGORY_COLORS, *spare]}
