"""Accelerators as the frameworks expose them, and recordings of their activity.

Implements `measure.device_watch.Device` for torch and JAX, and starts the device watch of a run. A
device is queried only once the program itself uses it, because a query would start its driver.
Knows nothing about phases.
"""
