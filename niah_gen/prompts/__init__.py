"""Holds the prompt templates and what a prompt is: messages of pieces.

May import tokenizers.
"""
