"""Sets runs side by side and writes the comparison.

May import the report, its files and charts.
"""
