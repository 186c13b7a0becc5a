"""Runs commands to their end, starts worker processes, runs what may crash apart, writes files whole, uses stores.

All that both packages ask of the machine, and of object stores beyond it, is here; it holds their locks, too.

Imports `contract`, and `text`, to show safely what it says.
"""
