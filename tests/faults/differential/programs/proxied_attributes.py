"""dotdict configurations and proxies whose __getattr__ raises something else."""


class DotDict(dict):
    def __getattr__(self, name):
        return self[name]


class Lazy:
    def __getattr__(self, name):
        raise RuntimeError(f"no {name} yet")


class Everything:
    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **options):
        return self


class Env:
    def __init__(self, config):
        self.config, self.lazy, self.any = config, Lazy(), Everything()

    def reset(self):
        return 0

    def step(self, action):
        return self.config.scale * action, 0.0, False, self.config


class Agent:
    def __init__(self, config):
        self.config = config

    def act(self, state):
        return state


config = DotDict(scale=2, nested=DotDict(lr=0.1))
env, agent = Env(config), Agent(config)
state = env.reset()
for number in range(60):
    state = env.step(agent.act(number))[0]
print(state, config.nested.lr, dict(config))
try:
    config.missing
except KeyError as error:
    print("KeyError", error)
