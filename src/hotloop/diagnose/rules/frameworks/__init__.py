"""Causes in how PyTorch, TensorFlow and JAX are called: devices, copies, compiling."""
