"""The same with the number as a tensor: compiled once."""

import torch
from recompilation_slow import as_number, main

if __name__ == "__main__":
    main(rate=lambda step: torch.tensor(as_number(step)))
