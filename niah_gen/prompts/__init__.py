"""Reads prompt templates, and describes prompts as messages made of pieces.

May import corpora and tokenizers.
"""
