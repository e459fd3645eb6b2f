"""A program creates, lists and deletes `runs`, where its capture goes when it has ended."""

# capture: default
import glob
import os
import shutil
import time

print(os.listdir("."), os.path.exists("runs"), list(os.walk(".")))
os.mkdir("runs")
os.makedirs(f"runs/experiment{len(glob.glob('runs/*'))}")
time.sleep(1.2)
print(sorted(os.listdir("runs")), sorted(os.listdir(".")))
shutil.rmtree("runs")
os.mkdir("elsewhere")
os.symlink("elsewhere", "runs")
print(os.listdir("elsewhere"), os.path.islink("runs"))
os.unlink("runs")
os.rmdir("elsewhere")
os.mkdir("runs")
