"""Holds the record of a scored run, writes it as files and reads them back.

May import statistics and the rooms above it. Inside, in this order: charts, the record (report.py), page, write.py and
read.py, comparison.
"""
