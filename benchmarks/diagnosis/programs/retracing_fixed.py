"""The same with the rate as a tensor: one trace."""

import tensorflow as tf
from retracing_slow import main

if __name__ == "__main__":
    main(give=lambda epsilon: tf.constant(epsilon, tf.float32))
