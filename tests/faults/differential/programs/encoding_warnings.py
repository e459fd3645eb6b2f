"""Nothing but the program's own files is opened without an encoding."""

# env: PYTHONWARNDEFAULTENCODING=1
import time

open(__file__).close()
time.sleep(1.2)
