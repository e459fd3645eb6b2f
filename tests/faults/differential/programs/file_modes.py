"""The umask and the modes of new files stay as they were."""

import os
from pathlib import Path

mask = os.umask(0o027)
print(oct(mask))
Path("file").touch()
os.mkdir("folder")
print(oct(Path("file").stat().st_mode), oct(Path("folder").stat().st_mode), oct(os.umask(mask)))
