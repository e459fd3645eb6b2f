"""torch's DataLoader: who waits for a batch, who loads it."""

from __future__ import annotations

from profiling import Profile

TRAINING = """
import torch
from torch.utils.data import DataLoader, Dataset

class Demonstrations(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return torch.full((4,), float(index)), torch.tensor(index % 2)

if __name__ == "__main__":
    torch.manual_seed(0)
    policy = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(policy.parameters(), 1e-2)
    loader = DataLoader(Demonstrations(), batch_size=8, num_workers={workers})
    for epoch in range(3):
        for rows, actions in loader:
            loss = torch.nn.functional.cross_entropy(policy(rows), actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(float(loss) > 0)
"""


def calls(run: object, process: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for phase in run.report["phases"]:  # type: ignore[attr-defined]
        if phase["process"].startswith(process):
            found[phase["name"]] = found.get(phase["name"], 0) + phase["calls"]
    return found


#: 3 epochs of 8 batches. The first batch comes before the loop, and each epoch's last `next` finds
#: nothing; the very last one may belong to what comes after the loop.
NEXT_IN_LOOP = (3 * 8 - 1 + 3, 3 * 8 - 1 + 2)


def test_loading_in_the_training_process(profile: Profile) -> None:
    run = profile(TRAINING.replace("{workers}", "0"))
    assert run.out.strip() == "True"
    main = calls(run, "main")
    assert main["data.load"] in NEXT_IN_LOOP
    assert "data.wait" not in main
    assert run.report["run"]["processes"] == 1


def test_loading_in_workers(profile: Profile) -> None:
    run = profile(TRAINING.replace("{workers}", "2"))
    main, workers = calls(run, "main"), calls(run, "DataLoader-")
    assert main["data.wait"] in NEXT_IN_LOOP
    assert "data.load" not in main
    assert workers["data.load"] == 3 * 8
    # Each epoch starts workers and stops them; those of the first start before the loop.
    assert main["data.workers"] >= 4
    named = {phase["process"] for phase in run.report["phases"]}
    assert named == {"main", "DataLoader-0", "DataLoader-1"}
    # A worker forgets the regions that its parent had open when it forked.
    assert {p["path"] for p in run.report["phases"] if p["name"] == "data.load"} == {"data.load"}
