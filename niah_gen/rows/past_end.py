"""Notes where the needles of a set, a fixed distance apart, would be past the end of the haystack."""

from __future__ import annotations

from collections.abc import Iterator

from niah_gen.recipe.recipe import Part
from niah_score.contract import Truth


def past_end(part: Part, row: Truth) -> Iterator[str]:
    """A note if the last needle of a row would be deeper than 100 %, identical for all rows of a set.

    Every placement puts such a needle at the end, beside others instead of at its own depth.
    """
    count = len(row["needles"])
    depth = row["depth_percent"]
    last = part.diff * (count - 1)
    if part.spread != "diff" or row["control"] is not None or depth is None or depth + last <= 100:
        return
    where = f"at depths above {100 - last:g} %" if last <= 100 else "at every depth"
    yield (
        f"{row['needle_id']}: {where} the last of {count} needles, {part.diff:g} % apart, would be past the end, "
        "and is put at it; a smaller --diff keeps them apart"
    )
