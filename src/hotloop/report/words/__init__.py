"""Parts of a report in words, for every renderer: headline, evidence, gains, returns, paths."""
