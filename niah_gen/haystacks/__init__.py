"""Fills haystacks to a token budget, from corpora or with generated lines, and places needles in them.

May import corpora, tokenizers and prompts.
"""
