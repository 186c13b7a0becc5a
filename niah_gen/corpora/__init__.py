"""Finds, reads, installs, fetches and adds the texts that haystacks are made of.

Imports the package's errors and niah_score (contract, machine); no other room of the generator.
"""
