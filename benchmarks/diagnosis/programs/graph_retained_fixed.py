"""The same with the baseline detached before it is carried on."""

import torch
from graph_retained_slow import main

if __name__ == "__main__":
    main(carry=torch.Tensor.detach)
