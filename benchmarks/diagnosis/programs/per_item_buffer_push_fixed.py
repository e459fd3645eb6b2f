"""The same with one push for all."""

from per_item_buffer_push_slow import main


def store_together(buffer, obs, actions, rewards, next_obs, done) -> None:
    buffer.push_batch(obs.numpy(), actions.numpy(), rewards.numpy(), next_obs.numpy(), done.numpy())


if __name__ == "__main__":
    main(store_together, steps=1500)
