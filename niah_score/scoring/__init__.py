"""Scores joined answers: extracts the answer, determines statuses and findings, applies metrics, asks judges offline.

May import metrics and the rooms above it.
"""
