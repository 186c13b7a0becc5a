"""Reads files of log-probabilities: one module per kind of record, and `read`, which opens files and recognises kinds.

May import what its room may: contract, text, machine, and the rest of formats.
"""
