"""Scores joined answers: extracts what counts, tells statuses and findings, applies metrics, and asks judges offline.

May import metrics and the rooms above it.
"""
