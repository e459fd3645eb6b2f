"""What the sampler saw: functions and lines, thread states, flame graphs, imports."""
