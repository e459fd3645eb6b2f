"""Ctrl-C ends a program with KeyboardInterrupt."""

# send: SIGINT
import time
from pathlib import Path


def train():
    Path("ready").touch()
    time.sleep(30)


train()
