"""Starts worker processes and writes files that appear whole: all that both packages ask of the machine.

Imports no other room.
"""
