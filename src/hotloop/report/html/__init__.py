"""The page: one file that needs nothing else, and the live page of a run in progress.

`page_data` is what it shows, as plain data; the hand-written style and scripts are in `static/`.
"""
