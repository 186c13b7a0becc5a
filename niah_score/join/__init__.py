"""Reads the truth of datasets and their answer files, and joins each answer to its row.

May import contract, text, machine and formats.
"""
