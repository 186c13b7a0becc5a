"""Names the files of a folder of scores."""

from __future__ import annotations

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
