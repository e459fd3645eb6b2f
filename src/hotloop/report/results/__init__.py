"""Results of experiments: comparisons, sweeps, investigations, proofs.

`experiments` selects the renderer for a kind and a format. The `..._page` files are pages,
`experiment_pictures` pictures, the rest text and JSON.
"""
