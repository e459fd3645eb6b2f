"""sys.settrace and sys.setprofile are free, and see the program's calls only."""

import sys
import threading

print(sys.gettrace(), sys.getprofile())


def square(number):
    return number * number


def program_calls(run):
    seen = []

    def note(frame, event, argument):
        if event in ("call", "return") and frame.f_code.co_filename == __file__:
            seen.append((event, frame.f_code.co_name))

    sys.setprofile(note)
    run()
    sys.setprofile(None)
    return seen


print(program_calls(lambda: [square(number) for number in range(3)]))
lines = []


def trace(frame, event, argument):
    lines.append((event, frame.f_code.co_name))
    return trace


sys.settrace(trace)
square(3)
sys.settrace(None)
print(lines)
threading.setprofile(None)
if sys.version_info >= (3, 12):
    print([sys.monitoring.get_tool(number) for number in range(6)])
