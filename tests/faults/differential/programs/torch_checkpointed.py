"""Recomputed layers, and hooks of modules, gradients and optimizers."""

# shares: torch
import torch
from torch.utils import checkpoint

called = []


def note(name, answer=None):
    def hook(*arguments):
        called.append(name)
        return arguments[0] if answer else None

    return hook


layer = torch.nn.Linear(2, 2)
model = torch.nn.Sequential(layer, torch.nn.Tanh(), torch.nn.Dropout(0.5))
torch.manual_seed(3)
for parameter in model.parameters():
    torch.nn.init.ones_(parameter)
layer.register_forward_hook(note("forward"))
layer.register_forward_pre_hook(note("before forward"))
model.register_full_backward_hook(note("backward"))
for reentrant in (True, False):
    inputs = torch.ones(1, 2, requires_grad=True)
    checkpoint.checkpoint(model, inputs, use_reentrant=reentrant).sum().backward()
with torch.autograd.graph.saved_tensors_hooks(note("pack", True), note("unpack", True)):
    model(torch.ones(1, 2)).sum().backward()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
optimizer.register_step_pre_hook(note("before step"))
optimizer.register_step_post_hook(note("after step"))
optimizer.step()
handle = layer.weight.register_post_accumulate_grad_hook(note("accumulated"))
model(torch.ones(1, 2)).sum().backward()
handle.remove()
print(called)
print(len(layer._forward_hooks), len(model._backward_hooks), layer.weight.tolist())
