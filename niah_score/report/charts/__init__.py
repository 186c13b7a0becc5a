"""Draws heatmaps, as pictures and in a terminal, of our scores and of other systems' results.

May import statistics and text; not the report.
"""
