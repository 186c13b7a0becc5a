"""Replays the generators of NVIDIA/RULER (version 1, commit c3f5e3b) to the byte, each from its seed.

One module a generator. The prompts of a run are drawn one after the other from one seeded generator, beginning with the
search for the size that fits the length, so a sample can only be had after those before it.
"""
