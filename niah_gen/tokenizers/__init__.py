"""Finds tokenizers and counts the tokens of spliced text exactly.

Imports the package's errors and niah_score (contract, text); no other room of the generator.
"""
