"""Checks that the disk has room for a dataset before it is built."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from niah_gen.dataset.folders import BuildFolders
from niah_gen.errors import ResourceError
from niah_gen.rows.forecast import text_bytes
from niah_gen.rows.plan import Plan
from niah_gen.tasks.base import NO_CONTEXT
from niah_score.text.language import find_language

# Bytes of a row that do not compress: its digests.
_LEAST_OF_A_ROW = 40
# Prompts may be shorter than asked for, and a token may have fewer bytes than expected.
_LEAST_SHARE = 0.25


def check_room(
    plan: Plan, target: BuildFolders, formats: Sequence[str], parts: int, tell: Callable[[str], None]
) -> None:
    """Refuse a build that certainly does not fit on its disk; warn about one that may not.

    `parts`: how many builds share the dataset, this one included. Files that a killed build left count as written.
    Quotas are not checked. Raises ResourceError stating the bytes needed and free.
    """
    text = text_bytes(plan)
    rows = len(plan.cells)
    # For formats that compress, nothing more is known beforehand: neighbouring rows are near-copies.
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
        for folder in (target.dataset, target.record(0).parent, target.partial):
            with suppress(OSError):
                folder.rmdir()
        raise ResourceError(
            f"{target.final}: needs at least {needed:,} bytes, and the disk of {place} has {free:,} left; make room, "
            "choose another --out, or ask for fewer or shorter rows; compressed formats (parquet, jsonl.zst) take less"
        )
    if more > free:
        tell(
            f"the prompts come to about {more:,} bytes before compression, and the disk of {place} has {free:,} "
            "left; if it fills up, the build ends, and the same command continues once there is room"
        )


def _least_text(plan: Plan) -> float:
    """Bytes of all prompts, at least; prompts without a context count as zero."""
    return _LEAST_SHARE * sum(
        max(0, cell.length - plan.part_of[cell.part].part.reserve) * find_language(cell.language).bytes_per_token
        for cell in plan.cells
        if cell.control != NO_CONTEXT
    )


def _bytes_below(folder: Path) -> int:
    """Bytes of all files below a folder, where other builds may be renaming theirs."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total
