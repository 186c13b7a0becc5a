"""Replays the generators of NVIDIA/RULER (version 1, commit c3f5e3b) byte for byte, each from its seed.

`family` is the task family and `draft` what all generators share; the others are the generators. A run draws its
prompts in sequence from one seeded generator, starting with the search for the size that fits the length, so a sample
can only be drawn after all earlier ones.
"""
