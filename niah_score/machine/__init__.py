"""Asks the machine for processes and files, for both packages.

Imports no other room of the scorer.
"""
