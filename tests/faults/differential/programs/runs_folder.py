"""A program makes `runs` itself, where its capture already is; a second time it fails."""

# capture: default
import os

os.mkdir("runs")
os.makedirs("runs/experiment0")
try:
    os.mkdir("runs")
except FileExistsError as error:
    print(error)
try:
    os.makedirs("runs/experiment0")
except FileExistsError as error:
    print(error)
print(os.mkdir.__name__, os.path.isdir("runs/experiment0"))
