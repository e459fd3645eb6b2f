"""The same without validation."""

from distribution_validation_slow import main

if __name__ == "__main__":
    main(validate=False)
