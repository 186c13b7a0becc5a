"""Looks whether the disk has room for a dataset before it is built."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from niah_gen.dataset.folders import BuildFolders
from niah_gen.errors import ResourceError
from niah_gen.rows.forecast import text_bytes
from niah_gen.rows.plan import Plan
from niah_gen.tasks.controls import NO_CONTEXT
from niah_score.text.language import find_language

# Bytes of a row that no compression takes away: its digests.
_LEAST_OF_A_ROW = 40
# Prompts may be shorter than asked for, and a token may have fewer bytes than expected.
_LEAST_SHARE = 0.25


def check_room(
    plan: Plan, target: BuildFolders, formats: Sequence[str], parts: int, tell: Callable[[str], None]
) -> None:
    """Refuse a build that certainly does not fit on its disk; say so of one that perhaps does not.

    `parts`: how many builds share the dataset, one of which this is. What a killed build left counts as written.
    Quotas are not seen. Raises ResourceError with the bytes that are needed and free.
    """
    text = text_bytes(plan)
    rows = len(plan.cells)
    # Of formats that compress, nobody can say more beforehand: neighbouring rows are near-copies.
    least = sum(_least_text(plan) if suffix == "jsonl" else rows * _LEAST_OF_A_ROW for suffix in formats)
    most = text * len(formats)
    place = next(folder for folder in target.final.absolute().parents if folder.is_dir())
    try:
        free = shutil.disk_usage(place).free
    except OSError:
        return
    if free >= most / parts:
        return
    written = _bytes_below(target.dataset)
    needed, more = int(least / parts) - written, int(most / parts) - written
    if needed > free:
        for folder in (target.dataset, target.parts, target.partial):
            with suppress(OSError):
                folder.rmdir()
        raise ResourceError(
            f"{target.final}: takes {needed:,} bytes at least, and the disk of {place} has {free:,} left; make room, "
            "choose another --out, or ask for fewer or shorter rows; compressed formats (parquet, jsonl.zst) take less"
        )
    if more > free:
        tell(
            f"the prompts have some {more:,} bytes before they are compressed, and the disk of {place} has {free:,} "
            "left; if it fills up, the build ends, and the same command goes on from there once there is room"
        )


def _least_text(plan: Plan) -> float:
    """Bytes of all prompts, at least; those without a context count as nothing."""
    return _LEAST_SHARE * sum(
        max(0, cell.length - plan.part_of[cell.part].part.reserve) * find_language(cell.language).bytes_per_token
        for cell in plan.cells
        if cell.control != NO_CONTEXT
    )


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
