"""Runs commands and workers, writes files atomically, holds locks, uses object stores.

Both packages use it for everything they need from the system and from object stores.

Imports `contract`, and `text` to show texts safely.
"""
