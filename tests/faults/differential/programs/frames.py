"""How deep the stack is, who is at its bottom, and what reads it."""

# frames: all
import inspect
import logging
import sys
import traceback
import warnings


def inner():
    return [frame.name for frame in traceback.extract_stack()]


def depth():
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


print(inner(), [frame.function for frame in inspect.stack()], depth(), sys._getframe().f_back)
print(sys._getframe().f_globals is globals(), sys._getframe().f_locals is globals())
traceback.print_stack()
warnings.warn("of whoever called this module", stacklevel=2)
logging.basicConfig(format="%(filename)s %(lineno)d %(funcName)s %(message)s")
logging.warning("with a stack", stack_info=True, stacklevel=2)
