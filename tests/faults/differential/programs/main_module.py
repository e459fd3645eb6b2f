"""What a script sees of itself."""

import __main__
import sys

print(
    __name__,
    __file__ == sys.argv[0],
    __package__,
    __spec__,
    __builtins__ is sys.modules["builtins"],
    __main__.__dict__ is globals(),
)
print(
    list(globals()),
    sys.argv[1:],
    sys.flags,
    sys.path[0].endswith("programs"),
)
print(
    type(__loader__).__name__,
    sys.stdin.closed,
    sys.stdout.encoding,
    sys.stdout.line_buffering,
    sys.stderr.line_buffering,
    sys.getswitchinterval(),
)
