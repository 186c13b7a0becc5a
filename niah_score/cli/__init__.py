"""Parses the commands of `niah-score`, calls one function for each, and prints: results on stdout, the rest on stderr.

May import every room of the scorer.
"""
