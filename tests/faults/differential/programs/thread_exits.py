"""sys.exit in a thread ends that thread only."""

import sys
import threading

thread = threading.Thread(target=sys.exit, args=(3,))
thread.start()
thread.join()
print("still here")
