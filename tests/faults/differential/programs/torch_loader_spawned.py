"""A DataLoader with spawned workers and a partial of torch.as_tensor as its collate function."""

# needs: torch
# full: two spawned workers import torch
import functools

import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return float(index)


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(
        Rows(),
        batch_size=2,
        num_workers=1,
        multiprocessing_context="spawn",
        collate_fn=functools.partial(torch.as_tensor, dtype=torch.float64),
    )
    print([batch.tolist() for batch in loader])
