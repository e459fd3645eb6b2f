"""A program that changes its folder writes where it says, and nowhere else."""

import os
from pathlib import Path

Path("inner").mkdir()
os.chdir("inner")
Path("written").write_text("here")
print(os.listdir("."), os.path.basename(os.getcwd()))
os.chdir("..")
print(sorted(os.listdir(".")))
