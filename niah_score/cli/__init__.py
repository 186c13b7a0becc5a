"""Parses the commands of `niah-score`, calls one function each, and prints.

May import every room of the scorer.
"""
