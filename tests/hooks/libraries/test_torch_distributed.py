"""torch.distributed: collectives, and the reduction inside DDP's backward pass."""

from __future__ import annotations

from profiling import Profile

TRAINING = """
import gc, weakref
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Model(DistributedDataParallel):
    def _set_ddp_runtime_logging_sample_rate(self, sample_rate):
        raise AssertionError("the rate is the program's")

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
model = Model(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
rows = torch.randn(8, 4)
for update in range(40):
    loss = model(rows).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    total = loss.detach().clone()
    dist.all_reduce(total)
    later = dist.all_reduce(total, async_op=True)
    later.wait()
    optimizer.step()
with model.no_sync():
    model(rows).mean().backward()
with torch.no_grad():
    model(rows)
print(round(float(total), 4) > 0)
gone = weakref.ref(model)
del model, loss, optimizer
gc.collect()
print(gone() is None)
dist.destroy_process_group()
"""


def test_collectives_and_the_reduction_inside_a_backward_pass(profile: Profile) -> None:
    run = profile(TRAINING)
    assert run.out.split() == ["True", "True"]
    phases = {p["path"]: p for p in run.report["phases"]}
    # The collective, the one that returns at once, and the wait for it.
    assert phases["comm"]["calls"] == 3 * 40
    inside = phases["learn.backward/comm"]
    assert 0 < inside["total_s"] < phases["learn.backward"]["total_s"]
    counters = run.report["run"]["counters"]
    assert counters["backward_comm_s"] > 0
    assert counters["ddp_backward_s"] > 0
