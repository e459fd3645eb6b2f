"""The same with the fused optimizer."""

from unfused_optimizer_slow import main

if __name__ == "__main__":
    main(fused=True)
