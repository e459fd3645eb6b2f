"""A program whose working folder is gone."""

import os
import shutil
from pathlib import Path

Path("inner").mkdir()
os.chdir("inner")
shutil.rmtree("../inner")
try:
    os.getcwd()
except FileNotFoundError as error:
    print(error)
