"""Draws heatmaps, as pictures and in a terminal.

May import statistics and text; not the report.
"""
