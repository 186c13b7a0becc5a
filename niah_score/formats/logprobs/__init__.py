"""Reads files of log-probabilities: one file a kind of record, and one that opens files and tells the kinds apart.

May import what its room may: contract, text, machine, and the rest of formats.
"""
