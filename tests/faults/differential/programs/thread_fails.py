"""A thread that raises prints what it always prints, and the program continues."""

import threading


def fail():
    raise ValueError("in a thread")


thread = threading.Thread(target=fail, name="failing")
thread.start()
thread.join()
threading.excepthook = lambda details: print("hook", details.exc_type.__name__)
thread = threading.Thread(target=fail, name="failing")
thread.start()
thread.join()
