"""Judges joined answers: the text that counts, statuses, findings, scores, and a language model as judge.

May import metrics and the rooms above it.
"""
