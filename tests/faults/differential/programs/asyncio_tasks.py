"""4,000 tasks with regions in them end in a few seconds."""

import asyncio
import time

import hotloop


async def task(number):
    with hotloop.profile("env.step"):
        await asyncio.sleep(0)
        hotloop.count("env_steps")
    return number


async def main():
    return sum(await asyncio.gather(*(task(number) for number in range(4000))))


begin = time.process_time()
print(asyncio.run(main()), time.process_time() - begin < 10)
