"""Turns a recipe into cells and each cell into a row: the plan, the assembler, the row ids.

May import recipe and the rooms above it.
"""
