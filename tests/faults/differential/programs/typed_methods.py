"""get_type_hints, dataclasses, enums and singledispatch over methods that are timed."""

import dataclasses
import enum
import functools
import typing


class Action(enum.Enum):
    LEFT = 0


@dataclasses.dataclass
class Env:
    size: int = 3

    def reset(self) -> int:
        return 0

    def step(self, action: "Action") -> "tuple[int, float, bool, dict[str, int]]":
        return 0, 0.0, False, {}


@functools.singledispatch
def act(state):
    return "any"


@act.register
def _(state: int):
    return "int"


env = Env()
env.reset()
for _ in range(30):
    env.step(Action.LEFT)
    act(1)
print(
    typing.get_type_hints(Env.step),
    env,
    dataclasses.asdict(env),
    env == Env(),
    act(1.0),
    act(2),
    sorted(map(str, act.registry)),
)
