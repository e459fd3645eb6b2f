"""Names and numbers of threads start where they do without a profiler."""

import concurrent.futures
import threading

print(threading.current_thread().name, threading.Thread().name, threading.Thread().name)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    print(sorted(set(pool.map(lambda _: threading.current_thread().name, range(1)))))
print(threading.current_thread().native_id == threading.get_native_id())
