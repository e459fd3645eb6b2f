"""The same with semaphores: who has nothing to do sleeps."""

import multiprocessing as mp

from polling_slow import DONE, WORKERS, Turns, main


class Wakes(Turns):
    def __init__(self) -> None:
        super().__init__()
        self.turns = [mp.Semaphore(0) for _ in range(WORKERS)]
        self.ready = mp.Semaphore(0)

    def hand_over(self, what: int) -> None:
        super().hand_over(what)
        for turn in self.turns:
            turn.release()

    def wait_for_all(self) -> None:
        for _ in range(WORKERS):
            self.ready.acquire()

    def wait(self, worker: int) -> int:
        self.turns[worker].acquire()
        return self.flags[worker]

    def done(self, worker: int) -> None:
        self.flags[worker] = DONE
        self.ready.release()


if __name__ == "__main__":
    main(Wakes(), 150)
