"""Draws a dataset as one HTML file: what stands in each cell, and its prompts with what they hide, before publishing.

`figures` counts what every cell holds, `choose` picks the rows that are shown in full, `drawing` shortens their
prompts, `render` puts all of it into one file. May import dataset and the rooms above it, and niah_score.html.
"""
