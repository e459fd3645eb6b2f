"""An error in a destructor is printed, and the program continues."""


class Thing:
    def __del__(self):
        raise ValueError("in a destructor")


Thing()
print("continues")
