"""Renders report.html.

May import the record of a report and charts.
"""
