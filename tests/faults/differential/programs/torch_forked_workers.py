"""Forked loader workers end with the program."""

# needs: torch
# full: imports torch once more
import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((2,), float(index))


loader = torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=2)
print([batch.sum().item() for batch in loader])
iterator = iter(loader)
print(next(iterator).sum().item())
