"""One finding on a terminal: the user's own lines, or an example that is marked as one."""

from __future__ import annotations

from dataclasses import replace

from analyses import Make

from hotloop.diagnose.finding import HIGH, WARNING, Finding, Gain
from hotloop.diagnose.verdict import judge
from hotloop.report.console.finding_text import finding_text
from hotloop.report.console.terminal import Style

PATCH = "--- a/train.py\n+++ b/train.py\n@@ -4 +4 @@\n-x = tensor(rows)\n+x = tensor(stack(rows))\n"


def lines(made: Finding, make: Make) -> list[str]:
    return finding_text(made, judge(make(), []), Style()).splitlines()


def test_a_patch_is_shown_without_its_head_and_an_example_is_called_one(make: Make) -> None:
    example = Finding(
        "list-to-tensor", WARNING, "Title", "learn", Gain(1.1, 1.2), HIGH, "Fix", "",
        before="torch.tensor(list)", after="torch.tensor(np.stack(list))",
    )  # fmt: skip
    shown = lines(example, make)
    at = shown.index("  An example (not your code):")
    assert shown[at + 1 : at + 3] == [
        "    - torch.tensor(list)",
        "    + torch.tensor(np.stack(list))",
    ]
    shown = lines(replace(example, patch=PATCH), make)
    assert "  An example (not your code):" not in shown
    at = shown.index("    @@ -4 +4 @@")
    assert shown[at + 1 : at + 3] == ["    -x = tensor(rows)", "    +x = tensor(stack(rows))"]
