"""The same frames, shrunk by strides."""

from image_resize_slow import Pixels, main


class Strided(Pixels):
    def shrink(self):
        return self.frame[5::10, 5::10]


if __name__ == "__main__":
    main(Strided)
