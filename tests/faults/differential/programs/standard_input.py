"""Lines that are typed or piped reach the program, all of them."""

# stdin: first line|second line|third
import sys

print(input("name? "))
print(sys.stdin.readline())
print(repr(sys.stdin.read()), sys.stdin.isatty())
try:
    input()
except EOFError as error:
    print("EOFError", error)
