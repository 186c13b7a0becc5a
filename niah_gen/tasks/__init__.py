"""Decides what is hidden and what is asked: one file for each task family, and the needle library.

May import haystacks and the rooms above it.
"""
