"""Replays published benchmarks as task families, one file or folder each; `registry.py` above names them.

They use the room's records and may know each other's rules, never the families of ours.
"""
