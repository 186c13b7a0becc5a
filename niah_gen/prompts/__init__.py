"""Reads prompt templates, and represents prompts as messages, each a text with edits.

May import corpora and tokenizers.
"""
