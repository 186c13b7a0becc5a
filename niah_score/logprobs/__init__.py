"""Scores log-probabilities: perplexity of windows, and the gain of contexts.

`records` reads files of them, `targets` what a dataset's rows ask for and joins both, `perplexity` and `gain` compute
figures, `report` writes them. May import contract, text, machine, formats, join, statistics and report.
"""
