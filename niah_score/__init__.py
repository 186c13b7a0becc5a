"""Scores answers to needle-in-a-haystack prompts. Needs a dataset's files only, never its generator."""
