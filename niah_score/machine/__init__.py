"""Runs commands to their end, starts worker processes, runs what may crash apart, writes files whole, and holds locks.

All that both packages ask of the machine is here.

Imports `text` alone, to show safely what it says.
"""
