"""Reads datasets' truth and answer files, and brings each answer to its row.

May import contract, text, machine and formats.
"""
