"""Writes scores as CSV in OpenCompass's layout, which its tools_needleinahaystack.py plots."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from niah_score.statistics.scored import Scored, as_scored, coordinate_text, crossed
from niah_score.text.spreadsheet import as_plain_cell

if TYPE_CHECKING:
    import polars as pl


def opencompass_summary(scores: pl.DataFrame | Scored, metric: str, model: str) -> str:
    """The scores as CSV in OpenCompass's layout, which its tools_needleinahaystack.py plots.

    dataset, version, metric, mode, <model>; a line for each task, language, length and depth, named like
    Length1000Depth0_origin_zh_8k (origin is its word for a single needle, 8k the longest length), the mean with two
    decimals as OpenCompass writes it. The tool takes a cell for the mean of its lines. An empty field is a cell without
    scores. Rows without length or depth have no name there and are left out.
    """
    import numpy as np

    scored = as_scored(scores)
    combinations, codes = crossed(*(scored.factor(name) for name in ("task", "language", "length", "depth_percent")))
    values, has = scored.values(metric)
    n = np.bincount(codes[has], minlength=len(combinations)).tolist()
    totals = np.bincount(codes[has], values[has], minlength=len(combinations)).tolist()
    longest = max((names[2] for names in combinations if names[2] is not None), default=0)
    size = f"{longest // 1000}k" if longest % 1000 == 0 else str(longest)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["dataset", "version", "metric", "mode", as_plain_cell(model)])
    for (task, language, length, depth), count, total in zip(combinations, n, totals, strict=True):
        if length is None or depth is None:
            continue
        kind = "origin" if task in (None, "single") else task
        name = "_".join(part for part in (f"Length{length}Depth{coordinate_text(depth)}", kind, language, size) if part)
        lines.writerow([name, "-", metric, "gen", f"{total / count:.2f}" if count else ""])
    return text.getvalue()
