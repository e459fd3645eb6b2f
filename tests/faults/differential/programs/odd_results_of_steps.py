"""Environments whose results are objects that answer only the program's questions."""


class Odd:
    def __getattr__(self, name):
        print("asked for", name)
        raise RuntimeError(name)

    @property
    def __class__(self):
        print("asked for its class")
        return float

    @property
    def dtype(self):
        print("asked for dtype")
        return "float64"

    @property
    def shape(self):
        print("asked for shape")
        return (1,)

    def __bool__(self):
        print("tested")
        return False

    def __len__(self):
        print("measured")
        return 2

    def __float__(self):
        print("converted")
        return 0.0

    def __iter__(self):
        print("iterated")
        return iter([])


class Env:
    def __init__(self, result):
        self.result = result

    def reset(self):
        return Odd()

    def step(self, action):
        return self.result


class Agent:
    def act(self, observation):
        return Odd()

    def learn(self, batch):
        return Odd()


agent = Agent()
for result in (
    Odd(),
    (Odd(), 1.0, False, {}),
    (0, Odd(), False, {}),
    (0, 1.0, Odd(), {}),
    (0, 1.0, False, Odd(), {}),
    (0, 1.0, False, False, Odd()),
    (Odd(),) * 5,
    [Odd(), Odd(), Odd(), Odd()],
    {"reward": Odd(), "done": Odd()},
    (0, [Odd(), Odd()], [False, Odd()], {}),
):
    env = Env(result)
    env.reset()
    for _ in range(40):
        env.step(agent.act(env.result))
        agent.learn(env.result)
print("done")
