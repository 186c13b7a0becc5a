"""Writes scores as CSV in OpenCompass's layout, which its tools_needleinahaystack.py plots."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from niah_score.statistics.scored import Scored, as_scored, coordinate_text
from niah_score.text.visible import as_plain_cell

if TYPE_CHECKING:
    import polars as pl

# The tool writes <this file>_<model>.png and puts the model in a title, where matplotlib reads $...$ as a formula.
_NOT_IN_A_NAME = re.compile(r"[/\\$\x00-\x1f\x7f]")
_LONGEST_NAME = 200  # bytes in UTF-8, of the 255 that a file name may have


def opencompass_summary(scores: pl.DataFrame | Scored, metric: str, model: str) -> str:
    """The scores as CSV, with the columns dataset, version, metric, mode and <model>.

    There is one line for each length and depth, over all its rows, named like Length1000Depth0_origin_zh_8k (origin is
    OpenCompass's word for a single needle, 8k the longest length; task and language are left out if a cell has
    several). One line, because the tool computes a cell as the plain mean of its lines: its overall score is then our
    mean of the lengths' means. Means have two decimals, as OpenCompass writes them, or six if two would round. A cell
    without scores is an empty field. Rows without length or depth have no such name and are left out.
    """
    scored = as_scored(scores)
    cells = scored.figures(metric, "length", "depth_percent")
    kinds = _kinds(scored)
    longest = max((length for length, _ in cells if length is not None), default=0)
    size = f"{longest // 1000}k" if longest % 1000 == 0 else str(longest)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["dataset", "version", "metric", "mode", as_plain_cell(_as_file_name(model))])
    for (length, depth), figure in cells.items():
        if length is None or depth is None:
            continue
        name = "_".join([f"Length{length}Depth{coordinate_text(depth)}", *kinds[length, depth], size])
        lines.writerow([name, "-", metric, "gen", "" if figure.mean is None else _points(figure.mean)])
    return text.getvalue()


def _kinds(scored: Scored) -> dict[tuple[int, float], list[str]]:
    """For each cell the task and the language of its rows, each only if all rows have the same."""
    kinds: dict[tuple[int, float], tuple[set[str], set[str | None]]] = defaultdict(lambda: (set(), set()))
    combinations, _ = scored.groups("length", "depth_percent", "task", "language")
    for length, depth, task, language in combinations:
        tasks, languages = kinds[length, depth]
        tasks.add("origin" if task in (None, "single") else task)
        languages.add(language)
    return {
        place: [next(iter(names)) or "" for names in sets if len(names) == 1 and names != {None}]
        for place, sets in kinds.items()
    }


def _points(mean: float) -> str:
    short = f"{mean:.2f}"
    return short if abs(float(short) - mean) < 1e-9 else f"{mean:.6f}"


def _as_file_name(model: str) -> str:
    """A model's name as the tool can use it in a file name and a title."""
    name = _NOT_IN_A_NAME.sub("-", model).encode(errors="replace")[:_LONGEST_NAME].decode(errors="ignore")
    return name or "model"
