"""Writes the prompts of a dataset in the form that other programs take, and publishes dataset folders.

`export` lists the formats: it chooses rows, orders them and has a format write them. May
import checks and the rooms above it, and of the scorer also `formats`, to know which rows have an answer.
"""
