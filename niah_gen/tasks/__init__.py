"""Says what is hidden and asked: one file a task family, the controls, the needle library.

May import haystacks and the rooms above it.
"""
