"""Profilers and tracers of the program's see its calls, the environment's, and no others."""

# frames: all
# needs: gymnasium
import cProfile
import pstats
import sys
import time

import gymnasium


class Env(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 1.0, False, False, {}


def episode():
    env = gymnasium.wrappers.TimeLimit(Env(), 5)
    env.reset(seed=0)
    over = False
    while not over:
        over = env.step(0)[3]


def seen_by(install):
    events = []

    def note(frame, event, argument):
        name = argument.__name__ if event.startswith("c_") else frame.f_code.co_name
        events.append((event, name, frame.f_lineno))
        return note

    install(note)
    episode()
    install(None)
    return events


print(*seen_by(sys.setprofile), sep="\n")
print(*seen_by(sys.settrace), sep="\n")
profile = cProfile.Profile()
profile.enable()
episode()
end = time.monotonic() + 1.3  # a window closes meanwhile
while time.monotonic() < end:
    pass
profile.disable()
stats = pstats.Stats(profile).stats
print(sorted(place for place in stats if "monotonic" not in place[2]))
