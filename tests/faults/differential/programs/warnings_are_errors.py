"""python -W error: nothing of a profiler warns."""

# python: -W error
import asyncio
import json
import logging
import multiprocessing
import sqlite3
import threading
import unittest

threading.Thread(target=print, args=("thread",)).start()
sqlite3.connect(":memory:").close()
print("no warning")
