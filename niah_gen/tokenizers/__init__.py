"""Finds tokenizers and counts the tokens of spliced text exactly.

May import the package's errors and niah_score (contract, text, machine), but no other room of the generator.
"""
