"""Ctrl-C ends a program as an error does: handlers run, objects are finalized, files are flushed."""

# send: SIGINT
import atexit
import sys
import time


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return action, 1.0, False, {}

    def __del__(self):
        print("env is gone")


env = Env()
env.reset()
env.step(1)
log = open("log.csv", "w")
log.write("a row\n")
atexit.register(lambda: print(sys.last_type.__name__, sys.exc_info()))
open("ready", "w").close()
time.sleep(30)
