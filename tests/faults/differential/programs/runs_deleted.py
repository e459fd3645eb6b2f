"""A program deletes the folder in which its capture is, and makes another in its place."""

# capture: default
import os
import shutil
import time

os.makedirs("runs", exist_ok=True)
time.sleep(1.2)
shutil.rmtree("runs")
time.sleep(1.2)
print(os.path.exists("runs"))
os.mkdir("runs")
print(os.listdir("runs"))
