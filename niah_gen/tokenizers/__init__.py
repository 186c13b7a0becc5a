"""Finds tokenizers and counts the tokens of edited text exactly.

May import the package's errors and niah_score (contract, text, machine), but no other room of the generator.
"""
