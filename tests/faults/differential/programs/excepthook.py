"""A program's own excepthook gets the exception, with the program's frames only."""

# frames: all
import sys
import traceback


def hook(kind, error, trace):
    print(kind.__name__, error, [frame.name for frame in traceback.extract_tb(trace)])
    print(trace.tb_frame.f_back, [frame.name for frame in traceback.extract_stack()])


print(
    sys.excepthook is sys.__excepthook__,
    sys.displayhook is sys.__displayhook__,
    sys.unraisablehook is sys.__unraisablehook__,
)
sys.excepthook = hook


def fail():
    raise RuntimeError("failed")


fail()
