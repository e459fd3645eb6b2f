"""torch.func's transforms, and what they refuse."""

# shares: torch
import torch
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vmap

layer = torch.nn.Linear(2, 1)
torch.nn.init.ones_(layer.weight)
torch.nn.init.zeros_(layer.bias)
parameters = dict(layer.named_parameters())


def loss(parameters, inputs):
    return functional_call(layer, parameters, (inputs,)).pow(2).sum()


print(grad(loss)(parameters, torch.ones(2)))
print(vmap(grad(loss), (None, 0))(parameters, torch.ones(3, 2)))
print(jacrev(torch.sin)(torch.ones(2)), hessian(lambda x: x.pow(3).sum())(torch.ones(2)))
print(jvp(torch.sin, (torch.ones(1),), (torch.ones(1),)))
for refused in (lambda x: x.item(), lambda x: torch.rand(1), lambda x: x if x > 0 else -x):
    try:
        print(vmap(refused)(torch.ones(3)))
    except RuntimeError as error:
        print(error)
print({name: value.shape for name, value in stack_module_state([layer, layer])[0].items()})
