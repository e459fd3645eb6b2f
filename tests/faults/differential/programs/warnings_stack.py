"""Who shows warnings is called as ever: its stack, its errors, how deep it can be nested."""

# frames: all
import traceback
import warnings


def warn():
    warnings.warn("shown")


def show(message, category, filename, lineno, file=None, line=None):
    print([frame.name for frame in traceback.extract_stack()], lineno)


def fail(*args, **kwargs):
    raise KeyError("not shown")


def nest(depth):
    global deepest
    deepest = depth
    warnings.showwarning = lambda *args, **kwargs: nest(depth + 1)
    warn()


warnings.simplefilter("always")
warnings.showwarning = show
warn()
warnings.showwarning = fail
try:
    warn()
except KeyError:
    traceback.print_exc()
try:
    nest(0)
except RecursionError as error:
    print(deepest, error)
