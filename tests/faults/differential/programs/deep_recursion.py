"""A recursive search through methods that look like an agent's reaches depth 900."""


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return action, 0.0, False, {}


class Agent:
    def act(self, depth):
        return 0 if depth == 0 else 1 + self.act(depth - 1)

    def search(self, env, depth):
        if depth == 0:
            return 0
        env.step(depth)
        return 1 + self.search(env, depth - 1)


env, agent = Env(), Agent()
env.reset()
for _ in range(30):
    env.step(agent.act(1))
print(agent.act(900), agent.search(env, 900))
