"""Reads the samples: functions and lines, thread states, flame graphs, imports."""
