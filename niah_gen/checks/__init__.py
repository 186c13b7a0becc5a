"""Verifies, proves, recounts and shows datasets that exist.

May import dataset and the rooms above it.
"""
