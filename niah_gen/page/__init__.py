"""Draws a dataset as one HTML file to check before publishing: what each cell holds, and prompts with what they hide.

`figures` counts what every cell holds, `drawing` shortens the prompts of the rows to show in full, and `render` picks
these rows and puts it all into one file. May import dataset and the rooms above it, and niah_score.html.
"""
