"""Verifies, proves, recounts and shows existing datasets.

May import dataset and the rooms above it.
"""
