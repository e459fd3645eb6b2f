"""Threads, default types, deterministic and inference modes, and the generator stay the program's."""

# shares: torch
import torch

print(
    torch.get_num_threads(),
    torch.get_default_dtype(),
    torch.is_grad_enabled(),
    torch.are_deterministic_algorithms_enabled(),
    torch.is_anomaly_enabled(),
)
torch.manual_seed(5)
with torch.inference_mode():
    print(torch.rand(2), torch.is_inference_mode_enabled())
with torch.no_grad(), torch.random.fork_rng():
    print(torch.randn(2))
print(torch.randn(2), torch.initial_seed(), torch.default_generator.get_state().sum())
