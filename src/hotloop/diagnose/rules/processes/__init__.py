"""Causes in how processes and threads work together: waiting, sending, sharing cores."""
