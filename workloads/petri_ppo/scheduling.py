"""Job-shop scheduling as a Petri net: the problem that the agent learns to solve.

Every job is a route of operations over the machines. A finished job stays on its machine until
there is room in the input buffer of the next one, and bulky jobs need more room than others. So a
greedy schedule can lock up: two machines each hold a job that waits for the other's buffer. A good
schedule finishes early and never gets there.

The reward counts time in units of the shop's lower bound: a return of -1 is a schedule that no
other can beat, -1.5 one that takes half as long again, and a deadlock costs more than any delay.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from petri_net import Arc, PetriNet, Simulator, Transition

DURATIONS = (1, 10)
JOB_SIZES = (1, 2)
BUFFER_CAPACITY = 2
# A deadlock must be worse than a slow schedule, and the earlier it comes the worse it is; a purely
# serial schedule of the default shop takes about four times the lower bound.
DEADLOCK_PENALTY = 4.0


@dataclass(frozen=True)
class Operation:
    """A stay on one machine."""

    machine: int
    duration: int


@dataclass(frozen=True)
class Job:
    """A route over the machines, and the buffer space that the job takes up on its way."""

    route: tuple[Operation, ...]
    size: int


@dataclass(frozen=True)
class JobShop:
    """A scheduling problem."""

    jobs: tuple[Job, ...]
    machines: int

    @property
    def operations(self) -> int:
        """How many operations have to be done in all."""
        return sum(len(job.route) for job in self.jobs)

    @property
    def lower_bound(self) -> int:
        """A time that no schedule can beat: the busiest machine's work or the longest job's."""
        work = [0] * self.machines
        for job in self.jobs:
            for operation in job.route:
                work[operation.machine] += operation.duration
        longest_job = max(sum(operation.duration for operation in job.route) for job in self.jobs)
        return max(*work, longest_job)


def random_job_shop(jobs: int, machines: int, seed: int) -> JobShop:
    """Draw a shop in which every job visits every machine once, in an order of its own."""
    rng = random.Random(seed)
    drawn = []
    for _ in range(jobs):
        order = rng.sample(range(machines), machines)
        route = tuple(Operation(machine, rng.randint(*DURATIONS)) for machine in order)
        drawn.append(Job(route, rng.randint(*JOB_SIZES)))
    return JobShop(tuple(drawn), machines)


def build_net(shop: JobShop) -> PetriNet:
    """Turn a shop into a net with two transitions for each operation: `start` and `leave`.

    `start` takes a waiting job and an idle machine, and gives the buffer room back when the work
    is done. `leave` frees the machine, and needs room in front of the job's next machine.
    """
    builder = _NetBuilder()
    idle = [builder.place(f"machine {m} idle", 1) for m in range(shop.machines)]
    room = [builder.place(f"room before {m}", BUFFER_CAPACITY) for m in range(shop.machines)]
    finished = builder.place("finished jobs", 0)
    for number, job in enumerate(shop.jobs):
        _add_job(builder, number, job, idle, room, finished)
    return builder.build()


def _add_job(
    builder: _NetBuilder, number: int, job: Job, idle: list[int], room: list[int], finished: int
) -> None:
    steps = range(len(job.route))
    # Jobs enter the shop from a yard without limits, so the first operation needs no buffer.
    waiting = [builder.place(f"job {number} waits for {k}", int(k == 0)) for k in steps]
    done = [builder.place(f"job {number} has done {k}", 0) for k in steps]
    for k, operation in enumerate(job.route):
        given_back = ((room[operation.machine], job.size),) if k > 0 else ()
        builder.transition(
            Transition(
                f"start {number}.{k}",
                inputs=((waiting[k], 1), (idle[operation.machine], 1)),
                outputs=((done[k], 1), *given_back),
                duration=operation.duration,
            )
        )
        leaving: tuple[Arc, ...] = ((done[k], 1),)
        arriving: tuple[Arc, ...] = ((finished, 1),)
        if k + 1 < len(job.route):
            leaving = (*leaving, (room[job.route[k + 1].machine], job.size))
            arriving = ((waiting[k + 1], 1),)
        builder.transition(
            Transition(
                f"leave {number}.{k}",
                inputs=leaving,
                outputs=(*arriving, (idle[operation.machine], 1)),
            )
        )


class _NetBuilder:
    """Collects places and transitions, so that they can be named while the net is not whole."""

    def __init__(self) -> None:
        self._places: list[str] = []
        self._marking: list[int] = []
        self._transitions: list[Transition] = []

    def place(self, name: str, tokens: int) -> int:
        self._places.append(name)
        self._marking.append(tokens)
        return len(self._places) - 1

    def transition(self, transition: Transition) -> None:
        self._transitions.append(transition)

    def build(self) -> PetriNet:
        return PetriNet(tuple(self._places), tuple(self._transitions), tuple(self._marking))


class Schedule:
    """One attempt at a shop: the actions that are open, what they cost, and how it ended.

    The actions are the net's transitions and, last, waiting for the next completion.
    """

    def __init__(self, shop: JobShop, *, turbo: bool = True) -> None:
        self.shop = shop
        self.simulator = Simulator(build_net(shop), turbo=turbo)
        self.wait_action = len(self.simulator.net.transitions)
        self._finished_place = self.simulator.net.places.index("finished jobs")
        self._bound = shop.lower_bound
        self._largest_marking = max(BUFFER_CAPACITY, len(shop.jobs))

    @property
    def actions(self) -> int:
        """How many actions there are, open or not."""
        return self.wait_action + 1

    @property
    def features(self) -> int:
        """The length of an observation."""
        return len(self.simulator.net.places) + len(self.simulator.net.transitions) + 1

    @property
    def complete(self) -> bool:
        """Whether every job has left its last machine."""
        return self.simulator.marking[self._finished_place] == len(self.shop.jobs)

    @property
    def deadlocked(self) -> bool:
        """Whether jobs are left that can never move again."""
        return not self.complete and self.simulator.is_dead

    @property
    def makespan(self) -> float:
        """The time so far, in units of the lower bound."""
        return self.simulator.clock / self._bound

    def reset(self) -> None:
        """Start over with all jobs in the yard."""
        self.simulator.reset()

    def open_actions(self) -> list[bool]:
        """Which actions may be taken now."""
        # A finished or dead schedule keeps `wait` open: a mask without any action has no softmax.
        can_wait = bool(self.simulator.in_flight) or True not in self.simulator.enabled
        return [*self.simulator.enabled, can_wait]

    def step(self, action: int) -> float:
        """Take an action, let time pass while there is nothing to decide, return the reward."""
        elapsed = 0
        if action == self.wait_action:
            elapsed += self.simulator.advance()
        else:
            self.simulator.fire(action)
        while self.simulator.in_flight and True not in self.simulator.enabled:
            elapsed += self.simulator.advance()
        reward = -elapsed / self._bound
        if self.deadlocked:
            reward -= DEADLOCK_PENALTY * (1.0 + self._unfinished_share())
        return reward

    def observe(self) -> list[float]:
        """The tokens in each place, the time left of each transition under way, and the clock."""
        scale = self._largest_marking
        tokens = [count / scale for count in self.simulator.marking]
        remaining = [0.0] * self.wait_action
        for finish_time, transition in self.simulator.in_flight:
            remaining[transition] = (finish_time - self.simulator.clock) / DURATIONS[1]
        return [*tokens, *remaining, self.makespan]

    def _unfinished_share(self) -> float:
        return 1.0 - self.simulator.marking[self._finished_place] / len(self.shop.jobs)
