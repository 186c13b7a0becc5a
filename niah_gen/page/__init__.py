"""Draws a dataset as one HTML file to check before publishing: what each cell holds, and prompts with what they hide.

`render` counts what every cell holds, picks the rows to show in full and puts it all into one file; `drawing` shortens
their prompts. May import dataset and the rooms above it, and niah_score.html.
"""
