"""The same loop with a frame now and then."""

from render_in_step_slow import main

if __name__ == "__main__":
    main(draw=False)
