"""Slow callbacks, cancelled tasks and unhandled errors of asyncio print the same."""

import asyncio


async def cancelled():
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        print("cancelled")
        raise


async def main():
    task = asyncio.create_task(cancelled(), name="mine")
    await asyncio.sleep(0)
    task.cancel()
    print(await asyncio.gather(task, return_exceptions=True))
    print(len(asyncio.all_tasks()))


asyncio.run(main())
