"""Processes and threads that slow each other down: waiting, sending, sharing cores."""
