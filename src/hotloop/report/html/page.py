"""The page: one file that needs nothing else, for one run or for several side by side.

`shell` combines a document of data with the hand-written style and script in `static/`. Text from a
program is only ever data: it is embedded as JSON in which no markup can begin, and the script puts
it on the page as text. The policy in the head allows exactly these scripts and styles, by their
hashes, and no requests.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from hotloop.report.console.terminal import Style, clean
from hotloop.report.console.text import text_report
from hotloop.report.document import Report
from hotloop.report.html.page_data import page_data
from hotloop.report.plain_data import json_ready
from hotloop.report.view import DEFAULT_VIEW, View

#: In the order in which they build on each other.
BASE_SCRIPTS = ("base.js", "format.js", "parts.js", "axes.js")
REPORT_SCRIPTS = (
    *BASE_SCRIPTS,
    "findings.js",
    "flame.js",
    "timeline.js",
    "returns.js",
    "processes.js",
    "tables.js",
    "report.js",
)
EXPERIMENT_SCRIPTS = (*BASE_SCRIPTS, "intervals.js", "experiments.js")
STYLES = ("base.css", "report.css")
EXPERIMENT_STYLES = (*STYLES, "experiments.css")


def render(report: Report, view: View = DEFAULT_VIEW) -> str:
    """The page of one run."""
    text = text_report(report, Style(width=100))
    title = f"{report.analysis.name} · hotloop"
    return shell(title, page_data(report), (*REPORT_SCRIPTS, "start.js"), text)


def shell(
    title: str,
    data: dict[str, Any],
    scripts: tuple[str, ...],
    without_script: str = "",
    connect: str = "'none'",
    styles: tuple[str, ...] = STYLES,
) -> str:
    """A whole document; `without_script` is shown to a reader without scripts."""
    style = "\n".join(asset(name) for name in styles)
    script = '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in scripts) + "\n})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{html.escape(clean(title))}</title>
<style>{style}</style>
</head>
<body>
<main id="page"></main>
<noscript><pre>{html.escape(without_script)}</pre></noscript>
<script type="application/json" id="data">{embed(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def embed(data: object) -> str:
    """JSON that is safe inside a script element: no `<`, and only ASCII."""
    text = json.dumps(json_ready(data), ensure_ascii=True, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    """One of the hand-written files."""
    return (files("hotloop.report.html") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
