"""Turns analyses and findings into what people and programs read.

A renderer takes an analysis and its findings and returns text or bytes; it does no arithmetic of
its own beyond rounding. `units` writes numbers, `terminal` knows width and colour, `text` is the
screen, `document` the JSON, `output` chooses a renderer by a file's ending.

`page` puts `page_data` and the hand-written files of `static` into one document; `web` serves it
while a run goes on, `live_view` is the same as lines and `screen` puts them on a terminal.
`pictures`, `markdown`, `detailed` and the files of `export` are one format each. `palette` gives
every category its colour, the same in all of them.

`comparison`, `sweeping` and `investigation` say in words and in JSON what experiments found; the
`…_page` of each is a page of the same family, `experiment_pictures` draws them, and `drawing` is
what all pictures share.
"""
