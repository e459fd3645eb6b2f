"""Sixteen actors: the simulators are waited for side by side."""

from few_actors_slow import main

if __name__ == "__main__":
    main(actors=16, count=1500)
