"""Slow use of PyTorch, TensorFlow and JAX: devices, copies, compiling."""
