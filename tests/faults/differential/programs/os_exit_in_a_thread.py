"""os._exit from a thread ends the whole program."""

import os
import threading
import time

threading.Thread(target=os._exit, args=(9,)).start()
time.sleep(30)
