"""Holds the record of a scored run and writes its files.

May import statistics and the rooms above it.
"""
