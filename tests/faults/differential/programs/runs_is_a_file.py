"""A program writes a file where its capture would go."""

# capture: default
with open("runs", "w") as file:
    file.write("a file")
print(open("runs").read())
