"""Holds the record of a scored run, writes it as files and reads them back; names those files.

May import statistics and the rooms above it. The order inside: charts, overview.py and tables.py, the record
(report.py), page, read.py and write.py, comparison.
"""

SCORES = "scores.parquet"
SAMPLES = "samples.parquet"
SUMMARY_CSV = "summary.csv"
CELLS_CSV = "cells.csv"
OPENCOMPASS_CSV = "opencompass_summary.csv"
PROBLEMS = "problems.jsonl"
PICTURES = ("heatmap.png", "heatmap.svg")
PAGE = "report.html"
SUMMARY = "summary.json"

# The summary vouches for the others: it lists them with their sha256, and is moved into place last.
FILES = (SCORES, SAMPLES, SUMMARY_CSV, CELLS_CSV, OPENCOMPASS_CSV, PROBLEMS, *PICTURES, PAGE, SUMMARY)
# The tables of log-probabilities, whose other files have the same names.
LOG_PROB_TABLES = ("perplexity.csv", "gain.csv")
