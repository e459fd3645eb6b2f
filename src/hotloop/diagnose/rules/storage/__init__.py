"""Slow storage: replay buffers, data loaders, files, logs and checkpoints."""
