"""Methods of a hand-written environment and agent are what inspect finds in the source."""

import inspect


class Env:
    def reset(self, seed=None):
        self.at = 0
        return self.at

    def step(self, action: int = 1, *, scale=2) -> tuple:
        """One step."""
        self.at += action * scale
        return self.at, 1.0, self.at > 9, {}


class Agent:
    def act(self, state):
        return 1

    def learn(self, batch, weight=0.5):
        return weight


def loop(env, agent, episodes=20):
    for _ in range(episodes):
        state, done = env.reset(), False
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
            agent.learn([state])


env, agent = Env(), Agent()
kept = {
    name: vars(owner)[name]
    for owner, name in ((Env, "step"), (Env, "reset"), (Agent, "act"), (Agent, "learn"))
}
for _ in range(2):
    for owner, name in ((Env, "step"), (Env, "reset"), (Agent, "act"), (Agent, "learn")):
        f = getattr(owner, name)
        print(
            name,
            inspect.signature(f),
            inspect.getfullargspec(f),
            f.__code__.co_name,
            f.__code__.co_firstlineno,
            f.__defaults__,
            f.__kwdefaults__,
        )
        print(
            f.__globals__ is globals(),
            inspect.isfunction(f),
            inspect.getfile(f) == __file__,
            inspect.getsourcelines(f)[1],
            f.__doc__,
            f.__qualname__,
        )
        print(
            sorted(name for name, _ in inspect.getmembers(owner, inspect.isfunction)),
            vars(f),
            hasattr(f, "__wrapped__"),
            type(f).__name__,
        )
        print(
            inspect.ismethod(getattr(env if owner is Env else agent, name)),
            f.__annotations__,
            f.__closure__,
            kept[name] is vars(owner)[name],
        )
    loop(env, agent)
