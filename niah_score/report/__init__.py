"""Holds the record of a scored run, writes it as files and reads them back.

May import statistics and the rooms above it. The order inside: charts, overview.py and notebook.py, the record
(report.py), page, write.py and read.py, plot.py, comparison.
"""
