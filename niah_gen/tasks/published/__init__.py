"""Replays published benchmarks as task families, one file or folder each; `tasks/registry.py` lists them.

They use the room's records and may import each other, but never this project's own families.
"""
