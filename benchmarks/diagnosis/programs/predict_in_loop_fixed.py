"""The same, calling the model itself."""

from predict_in_loop_slow import main


def by_call(model, state):
    return model(state, training=False).numpy()


if __name__ == "__main__":
    main(by_call)
