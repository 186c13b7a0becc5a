"""Computes how often each needle was found in rows with several needles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from niah_score.statistics.cluster_sums import wide
from niah_score.statistics.clusters import Clusters
from niah_score.statistics.columns import smallest
from niah_score.statistics.figures import Figure, figure_of, figure_schema
from niah_score.statistics.intervals import means
from niah_score.statistics.scored import Scored, as_scored

if TYPE_CHECKING:
    import polars as pl

    from niah_score.statistics.cluster_sums import Codes, Floats


def needle_recall(scores: pl.DataFrame | Scored) -> pl.DataFrame:
    """Compute how often the first, second, ... needle was found: position (from 1) and a figure's columns.

    A missing answer counts for as many needles as other rows of its needle_id have, none of them found, provided that
    missing rows score 0. It counts nowhere if no row of its needle_id was answered. A needle without a keyword (all but
    the last of a chain) has rows but an n of 0.
    """
    import numpy as np
    import polars as pl

    scored = as_scored(scores)
    schema = {"position": pl.Int64(), **figure_schema()}
    if "keyword.needles" not in scored.names or scored.levels("keyword.needles").values in ([], [None]):
        return pl.DataFrame(schema=schema)
    lists, list_of = _with_missing(scored)
    sizes = np.array([len(hits or ()) for hits in lists])
    # For every needle of every row: its row, its position (in `codes`), and 100 if found, 0 if not, NaN if unknown.
    each = sizes[list_of]
    if not each.any():
        return pl.DataFrame(schema=schema)
    place = np.repeat(np.arange(len(list_of), dtype=np.uint32), each)
    begins = np.cumsum(sizes) - sizes
    codes = np.arange(len(place), dtype=np.int64) - np.repeat(np.cumsum(each) - each, each)
    known = [math.nan if hit is None else 100.0 * hit for hits in lists for hit in hits or ()]
    values = np.array(known)[np.repeat(begins[list_of], each) + codes]
    count = int(sizes[np.unique(list_of)].max())
    codes = codes.astype(smallest(count))
    recalls = _figures_of(scored, values, place, codes, count)
    return pl.DataFrame([(k, *figure) for k, figure in enumerate(recalls, 1)], schema=schema, orient="row")


def _with_missing(scored: Scored) -> tuple[list[tuple[bool | None, ...] | None], Codes]:
    """The distinct lists of verdicts and each row's index among them; those of missing answers are filled in."""
    import numpy as np

    verdicts = scored.levels("keyword.needles")
    lists: list[tuple[bool | None, ...] | None] = [None if one is None else tuple(one) for one in verdicts.values]
    if None not in lists:
        return lists, verdicts.codes
    codes = verdicts.codes.astype(np.int64)
    nothing = lists.index(None)
    tasks, needles = scored.factor("task"), scored.factor("needle_id")
    sets = wide(tasks.codes, max(len(needles.values), 1), needles.codes)
    # The verdicts of the last judged row of every set.
    judged = np.flatnonzero(codes != nothing)
    last, first_from_end = np.unique(sets[judged[::-1]], return_index=True)
    known = dict(zip(last.tolist(), codes[judged[::-1][first_from_end]].tolist(), strict=True))
    silent = np.flatnonzero((codes == nothing) & scored.where("status", "missing"))
    zero = scored.values("keyword")[1][silent]
    places = {one: number for number, one in enumerate(lists)}
    for row, name, counts in zip(silent.tolist(), sets[silent].tolist(), zero.tolist(), strict=True):
        if name in known:
            filled = tuple(None if hit is None or not counts else False for hit in lists[known[name]] or ())
            if filled not in places:
                places[filled] = len(lists)
                lists.append(filled)
            codes[row] = places[filled]
    return lists, codes


def _figures_of(scored: Scored, values: Floats, place: Codes, codes: Codes, count: int) -> list[Figure]:
    """Figures of values that are not a column of the frame; `place`: the row of each value."""
    import numpy as np

    has = ~np.isnan(values)
    rows = np.bincount(codes, minlength=count).tolist()
    silent = np.bincount(codes[scored.unanswered[place]], minlength=count).tolist()
    (needles, named), at = scored.needles, place[has]
    haystacks, lengths = (scored.factor(name).codes[at] for name in ("haystack_id", "length"))
    clusters = Clusters(codes[has], count, needles[at], haystacks, strata=lengths, named=named)
    intervals = means(clusters, values[has])
    return [figure_of(*item) for item in zip(rows, silent, intervals, strict=True)]
