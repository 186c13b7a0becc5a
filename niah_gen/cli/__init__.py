"""Parses the commands of `niah-gen`, calls one function each, and prints.

May import every room of the generator.
"""
