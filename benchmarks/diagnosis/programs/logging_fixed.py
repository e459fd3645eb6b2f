"""The same rows, a thousand in a transaction."""

from logging_slow import main

if __name__ == "__main__":
    main(each=1000)
