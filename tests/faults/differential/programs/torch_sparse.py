"""Sparse, quantized, meta and nested tensors move and convert."""

# shares: torch
import torch

sparse = torch.eye(3).to_sparse()
print(
    sparse.to("cpu").to_dense().sum(),
    sparse.to(torch.float64).dtype,
    sparse.cpu().is_sparse,
    torch.eye(3).to_sparse_csr().to("cpu").layout,
)
try:
    print(sparse.cuda().device.type)
except Exception as error:
    print(type(error).__name__)
print(torch.empty(3, device="meta").to(torch.float16).dtype, torch.ones(2).to("meta").device)
print(
    torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).to("cpu").dtype,
    torch.ones(2, requires_grad=True).to("cpu").requires_grad,
)
for bad in ("nowhere", object()):
    try:
        torch.ones(1).to(bad)
    except Exception as error:
        print(type(error).__name__)
