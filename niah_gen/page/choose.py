"""Chooses the rows to show in full: one of every kind first, then a spread over the rest."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence

from niah_gen.page.figures import GridFigures, SeenRow

# The most rows whose prompts are read.
MOST_ROWS = 2_000


def in_order(figures: GridFigures, most: int = MOST_ROWS) -> list[SeenRow]:
    """At most `most` rows, the most telling first; always the same ones for the same dataset.

    First comes a row of every combination of part, control, language and corpus, then one of every cell of the grid,
    of every such combination in every cell, of every needle, and of every needle in every cell; then the others. Equals
    are ordered by a checksum of their ids, so that their other coordinates vary.
    """
    names = [name for name, _ in figures.filters]
    needle = 2 + names.index("needle_id") if "needle_id" in names else None

    def kind(row: SeenRow) -> Hashable:
        code = figures.codes[row.combination]
        return tuple(value for at, value in enumerate(code) if at >= 2 and at != needle)

    def cell(row: SeenRow) -> Hashable:
        return figures.codes[row.combination][:2]

    def of_needle(row: SeenRow) -> Hashable:
        return figures.codes[row.combination][needle] if needle is not None else None

    levels: Sequence[Callable[[SeenRow], Hashable]] = (
        kind,
        cell,
        lambda row: (kind(row), cell(row)),
        of_needle,
        lambda row: row.combination,
    )
    rows = sorted(figures.rows, key=lambda row: (zlib.crc32(row.id.encode("utf-8", "surrogatepass")), row[:2]))
    chosen: dict[SeenRow, None] = {}
    for level in levels:
        seen = {level(row) for row in chosen}
        for row in rows:
            if len(chosen) < most and level(row) not in seen:
                seen.add(level(row))
                chosen[row] = None
    for row in rows:
        if len(chosen) == most:
            break
        chosen[row] = None
    return list(chosen)
