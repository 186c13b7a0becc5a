"""Writes the prompts of a dataset in the form that other programs take, and publishes dataset folders.

Each format is a module, listed in `registry`; `export` chooses rows, orders them and has a format write them. May
import checks and the rooms above it, and of the scorer also `formats`, to know which rows have an answer.
"""
