"""Computes figures, intervals and tests from scores.

May import scoring and the rooms above it.
"""
