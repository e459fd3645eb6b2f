"""Features that are computed row by row before each training."""

import numpy as np
import pandas as pd
from _environments import Walk
from _training import dqn


def load_prices(path: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    pd.DataFrame({"close": 100 + rng.normal(0, 1, 90_000).cumsum()}).to_csv(path)
    return pd.read_csv(path)


def add_features(df: pd.DataFrame) -> pd.DataFrame:
    close = df["close"]
    df["mean"] = close.rolling(50).apply(lambda part: part.mean(), raw=False)
    df["high"] = close.rolling(50).apply(lambda part: part.max(), raw=False)
    return df


def main(features=add_features) -> None:
    features(load_prices("prices.csv"))
    dqn(Walk(), 6000)


if __name__ == "__main__":
    main()
