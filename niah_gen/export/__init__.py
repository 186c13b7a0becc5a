"""Writes the prompts of a dataset in the form that other programs take, and publishes dataset folders.

One module a format, listed in `registry`; `export` chooses rows, orders them and has a format write them. May import
checks and the rooms above it, and of the scorer also `formats`, which tells what has an answer.
"""
