"""Async and generator methods stay what they are."""

import asyncio
import inspect


class Env:
    async def reset(self):
        return 0

    async def step(self, action):
        await asyncio.sleep(0)
        return action, 1.0, False, {}

    def collect(self):
        yield from range(3)

    async def rollouts(self):
        for number in range(3):
            yield number


class Agent:
    async def act(self, state):
        return state

    def sample(self):
        yield 1


env, agent = Env(), Agent()
print(
    inspect.iscoroutinefunction(env.step),
    inspect.iscoroutinefunction(Env.reset),
    inspect.isgeneratorfunction(env.collect),
    inspect.isasyncgenfunction(env.rollouts),
    asyncio.iscoroutinefunction(agent.act),
    inspect.isgeneratorfunction(Agent.sample),
)


async def main():
    state = await env.reset()
    for number in range(50):
        state, *_ = await env.step(await agent.act(number))
    return state, [each async for each in env.rollouts()]


print(asyncio.run(main()), list(env.collect()), list(agent.sample()))
coroutine = env.step(1)
print(type(coroutine).__name__, coroutine.cr_code.co_name)
coroutine.close()
