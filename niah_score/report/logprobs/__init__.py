"""Scores log-probabilities: perplexity of windows, and the gain of contexts.

May import what its room may: contract, text, machine, formats, join, scoring, statistics.
"""
