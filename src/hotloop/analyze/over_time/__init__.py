"""A run over time: its series, trends, returns, interruptions and single calls."""
