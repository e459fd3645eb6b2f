"""The same market, its columns turned into arrays once."""

import numpy as np
from pandas_in_step_slow import Market, main


class FastMarket(Market):
    def __init__(self, df) -> None:
        super().__init__(df)
        self.close = df["close"].to_numpy()
        self.rest = df[["volume", "spread"]].to_numpy()

    def observation(self):
        past = self.close[self.t - 10 : self.t]
        return np.array([*(past / past.mean() - 1), *self.rest[self.t], 1.0], np.float32)

    def price(self) -> float:
        return float(self.close[self.t])


if __name__ == "__main__":
    main(FastMarket)
