"""The patch of target networks."""

from __future__ import annotations

from pathlib import Path

import pytest
from patched_programs import patched

LOOP = """
    import torch

    def follow(target, online, tau):
        for slow, fast in zip(target.parameters(), online.parameters()):
            BODY
"""


@pytest.mark.parametrize(
    ("body", "rate"),
    [
        ("slow.data.copy_(tau * fast.data + (1 - tau) * slow.data)", "tau"),
        ("slow.copy_(slow * (1.0 - tau) + fast * tau)", "tau"),
        ("slow.data.copy_(0.99 * slow.data + 0.01 * fast.data)", "0.01"),
        ("slow.data.lerp_(fast.data, self.tau)", "self.tau"),
        ("slow.data = tau * fast.data + (1 - tau) * slow.data", "tau"),
        ("slow.data.mul_(p).add_(fast.data, alpha=1 - p)", "1 - p"),
        ("slow.data.mul_(polyak)\n            slow.data.add_((1 - polyak) * fast.data)", "1 - polyak"),
    ],
)  # fmt: skip
def test_all_tensors_move_in_one_call(tmp_path: Path, body: str, rate: str) -> None:
    after = patched(tmp_path, "target-update-loop", LOOP.replace("BODY", body), "slow.")
    assert after is not None
    lists = "list(target.parameters()), list(online.parameters())"
    assert f"    with torch.no_grad():\n        torch._foreach_lerp_({lists}, {rate})\n" in after
    assert "for slow" not in after


@pytest.mark.parametrize(
    "body",
    [
        "slow.data.copy_(tau * fast.data + tau * slow.data)",
        "slow.data.copy_(fast.data)",
        "slow.data.copy_(tau * fast.data + (1 - tau) * slow.data); seen.append(slow)",
        "fast.data.mul_(0.99); slow.data.add_(0.01 * fast.data)",
    ],
)
def test_other_loops_have_no_patch(tmp_path: Path, body: str) -> None:
    assert patched(tmp_path, "target-update-loop", LOOP.replace("BODY", body), "slow.") is None


def test_the_loop_of_the_second_critic_goes_too(tmp_path: Path) -> None:
    body = "slow.data.copy_(tau * fast.data + (1 - tau) * slow.data)"
    one = LOOP.replace("BODY", body)
    loop = one[one.index("        for") :]
    two = one + loop.replace("target.", "target2.").replace("online.", "online2.")
    after = patched(tmp_path, "target-update-loop", two, "slow.")
    assert after is not None
    assert "list(target2.parameters()), list(online2.parameters())" in after
    assert "for slow" not in after


def test_torch_is_imported_where_only_its_parts_were(tmp_path: Path) -> None:
    source = LOOP.replace("import torch", "from torch import nn")
    body = "slow.data.lerp_(fast.data, tau)"
    after = patched(tmp_path, "target-update-loop", source.replace("BODY", body), "slow.")
    assert after is not None
    assert after.startswith("import torch\nfrom torch import nn\n")
