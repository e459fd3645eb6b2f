"""Locale, encodings and float formatting stay the program's."""

import locale
import sys

print(
    locale.getlocale(),
    locale.setlocale(locale.LC_ALL),
    sys.getdefaultencoding(),
    sys.getfilesystemencoding(),
    locale.getpreferredencoding(False),
)
print("é ∑ 🐍", 0.1 + 0.2, f"{1234567.891:n}")
