"""Thread locals and context variables are each thread's and task's own."""

import asyncio
import contextvars
import threading

variable = contextvars.ContextVar("variable", default=0)
local = threading.local()
local.value = 1


async def task(number):
    variable.set(number)
    await asyncio.sleep(0)
    return variable.get()


async def main():
    return await asyncio.gather(*(task(number) for number in range(5)))


print(asyncio.run(main()), variable.get(), len(contextvars.copy_context()))
thread = threading.Thread(target=lambda: print(hasattr(local, "value"), variable.get()))
thread.start()
thread.join()
