"""Writes, opens, completes and describes dataset folders.

May import rows and the rooms above it.
"""
