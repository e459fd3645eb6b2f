"""The same, choosing actions without gradients."""

import torch
from missing_no_grad_slow import main

if __name__ == "__main__":
    main(acting=torch.no_grad)
