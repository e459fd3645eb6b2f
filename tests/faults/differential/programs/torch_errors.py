"""Errors and warnings of torch name the program's lines."""

# shares: torch
import traceback
import warnings

import torch


def fail(run):
    try:
        run()
    except Exception as error:
        print(
            type(error).__name__,
            str(error).splitlines()[0][:80],
            [
                frame.lineno
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == __file__
            ],
        )


fail(lambda: torch.nn.Linear(2, 2)(torch.ones(3)))
fail(lambda: torch.ones(2).backward())
fail(lambda: torch.tensor("x"))
fail(lambda: torch.ones(2, 2).item())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy

    torch.tensor([numpy.ones(2), numpy.ones(2)])
print([(str(each.message)[:40], each.filename == __file__) for each in caught])
