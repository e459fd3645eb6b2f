"""faulthandler shows the main thread's frames of the program."""

# frames: all
import faulthandler
import tempfile

with tempfile.TemporaryFile("w+") as file:
    faulthandler.dump_traceback(file, all_threads=False)
    file.seek(0)
    print(file.read())
