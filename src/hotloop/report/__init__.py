"""Formats reports and results of experiments, for people and for programs.

`document` builds the report, once; every other file formats it and computes nothing. `text` is the
terminal (with `finding_text`, `phase_table`, `function_tables` and `device_text`), `page` with
`page_data` and `static/` the page, `markdown`, `detailed`, `pictures` and the files of `export/`
one format each; `formats` lists them by a file's ending, `output` writes the file. `live_view` and
`screen` show a run in progress in a terminal, `web` in a browser. `after_run` prints the report of
a finished run.

`experiments` selects the renderer for the result of an experiment: `comparison`, `sweep` and
`investigation` are text and JSON, the `..._page` files pages, `experiment_pictures` pictures.
`headline`, `sampled`, `paths`, `gains`, `terminal`, `palette`, `figures` and `plain_data` are
shared.

May use `analyze` and `diagnose`, and reads captures only through them or to export them. It knows
nothing about `run`, `measure`, `hooks` or how experiments are run.
"""
