"""The same pictures as bytes."""

import numpy as np
from memory_pressure_slow import FrameBuffer, main


class ByteBuffer(FrameBuffer):
    dtype = np.uint8


if __name__ == "__main__":
    main(ByteBuffer)
