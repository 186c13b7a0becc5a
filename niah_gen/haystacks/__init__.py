"""Makes contexts: sentences and words, filling a token budget, placements, generated units.

May import corpora, tokenizers and prompts.
"""
