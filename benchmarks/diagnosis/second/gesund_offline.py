"""Healthy: offline TD3+BC on tensors in memory, batches of 256, fused optimizers."""

# plants: nothing
import copy

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
size = 50_000
s, a = torch.randn(size, 17), torch.rand(size, 6) * 2 - 1
r, s2 = torch.randn(size, 1), torch.randn(size, 17)
actor = nn.Sequential(
    nn.Linear(17, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6), nn.Tanh()
)
critic = nn.Sequential(
    nn.Linear(23, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)
)
late_actor, late = copy.deepcopy(actor), copy.deepcopy(critic)
late.requires_grad_(False)
late_actor.requires_grad_(False)
pi_opt = torch.optim.Adam(actor.parameters(), 3e-4, fused=True)
q_opt = torch.optim.Adam(critic.parameters(), 3e-4, fused=True)
for step in range(1000):
    k = torch.randint(0, size, (256,))
    with torch.no_grad():
        y = r[k] + 0.99 * late(torch.cat([s2[k], late_actor(s2[k])], 1)).min(1, keepdim=True).values
    loss = (critic(torch.cat([s[k], a[k]], 1)) - y).pow(2).mean()
    q_opt.zero_grad()
    loss.backward()
    q_opt.step()
    if step % 2 == 0:
        do = actor(s[k])
        q = critic(torch.cat([s[k], do], 1))[:, 0]
        loss = -2.5 * (q / q.abs().mean().detach()).mean() + (do - a[k]).pow(2).mean()
        pi_opt.zero_grad()
        loss.backward()
        pi_opt.step()
        torch._foreach_lerp_(
            list(late.parameters()), [p.detach() for p in critic.parameters()], 0.005
        )
        torch._foreach_lerp_(
            list(late_actor.parameters()), [p.detach() for p in actor.parameters()], 0.005
        )
