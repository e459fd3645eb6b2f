"""A program that closes every descriptor but the standard ones."""

import os

os.closerange(3, 1024)
with open("after", "w") as file:
    file.write("written")
print("end")
