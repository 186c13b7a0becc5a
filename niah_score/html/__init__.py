"""Puts data, a style and scripts into one HTML file that loads nothing: what the pages of both packages share.

The report's page and the dataset's page have one look, one grid that the keyboard reaches, and one way to show texts
from outside; what each shows is its own. Imports no other room.
"""
