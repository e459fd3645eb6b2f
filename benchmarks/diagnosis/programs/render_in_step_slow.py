"""A training loop that draws every step."""

from typing import ClassVar

import numpy as np
from _environments import Walk
from _training import dqn
from PIL import Image, ImageDraw


class Scene(Walk):
    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"

    def render(self):
        picture = Image.new("RGB", (320, 240), "white")
        pen = ImageDraw.Draw(picture)
        for i, x in enumerate(self.position):
            at = 160 + 20 * float(x)
            pen.ellipse((at - 9, 30 * i, at + 9, 30 * i + 18), fill="navy", outline="black")
            pen.line((160, 30 * i, at, 30 * i), fill="red", width=2)
        return np.asarray(picture)


def main(draw: bool = True) -> None:
    env = Scene()
    frames = []

    def show(step, *_):
        if draw or step % 1000 == 0:
            frames[:] = [env.render()]

    dqn(env, 5_000, every=4, on_step=show)


if __name__ == "__main__":
    main()
