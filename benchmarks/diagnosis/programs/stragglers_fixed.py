"""The service is asked in the background: no step waits for it."""

import threading

from stragglers_slow import Uneven, main


class Background(Uneven):
    def ask(self) -> None:
        threading.Thread(target=super().ask, daemon=True).start()


if __name__ == "__main__":
    main(Background)
