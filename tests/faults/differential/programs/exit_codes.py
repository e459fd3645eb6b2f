"""Exit codes beyond a byte, negative, None, and of another type."""

import subprocess
import sys

for code in ("None", "300", "-1", "True", "[1]", "'x'"):
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.exit({code})"], capture_output=True, text=True
    )
    print(code, ended.returncode, ended.stderr)
sys.exit(300)
