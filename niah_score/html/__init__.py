"""Puts data, styles and scripts into one HTML file that loads nothing: what the pages of both packages share.

The report's page and the dataset's page look alike, and share a grid that works by keyboard and the code that shows
texts from outside safely; what each shows is its own. Imports no other room.
"""
