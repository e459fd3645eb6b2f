"""faulthandler shows the program's threads and frames, and no others."""

# frames: all
import faulthandler
import tempfile

with tempfile.TemporaryFile("w+") as file:
    faulthandler.dump_traceback(file, all_threads=True)
    file.seek(0)
    print(file.read())
