"""Renders report.html.

May import the record of a report and charts, and niah_score.html, which holds what every page has.
"""
