"""Starts worker processes, runs what may crash apart, writes files that appear whole, holds locks, uses object stores.

All that both packages ask of the machine, and of stores beyond it, is here.

Imports `contract`, and no other room.
"""
