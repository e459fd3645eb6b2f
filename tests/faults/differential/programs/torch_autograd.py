"""Custom autograd functions, hooks, transforms and functional calls compute the same."""

# shares: torch
import copy

import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
x = torch.randn(5, 3, requires_grad=True)
calls = []
handle = net.register_forward_hook(lambda module, inputs, output: calls.append(tuple(output.shape)))
loss = Double.apply(net(x)).pow(2).mean()
loss.backward()
print(
    loss,
    x.grad.sum(),
    calls,
    torch.func.vmap(lambda row: net(row).sum())(x.detach()).sum(),
    torch.func.jacrev(lambda row: net(row))(x[0].detach()).shape,
)
print(
    torch.func.functional_call(net, dict(net.named_parameters()), x).sum(),
    [name for name, _ in net.named_parameters()],
)
other = copy.deepcopy(net)
other.load_state_dict(net.state_dict())
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad(set_to_none=True)
    net(x.detach()).mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
print(
    net[0].weight.sum(),
    other[0].weight.sum(),
    optimizer.state_dict()["state"][0]["step"],
    torch.autograd.gradcheck(Double.apply, torch.ones(2, dtype=torch.float64, requires_grad=True)),
)
