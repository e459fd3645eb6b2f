"""Causes in stored data: replay buffers, data loaders, files, logs and checkpoints."""
