"""The same with numbers near zero taken as zero."""

from denormals_slow import main

if __name__ == "__main__":
    main(flush=True)
