"""Effect or noise: two captures, or many, compared.

`statistics` are the pure methods, `judgement` turns an interval into a verdict, `compare` and
`unpaired` apply them to runs, `scaling`, `hypothesis`, `limits` and `time_to_return` to what is
asked about many runs. Results are the plain data of `experiments`.
"""
