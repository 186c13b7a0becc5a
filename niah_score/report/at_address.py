"""Uploads a folder of scores to an address: summary.json last, so that without it there are no scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from niah_score.errors import ScoreError
from niah_score.machine.addresses import Address, objects_below, remove_objects, upload
from niah_score.machine.scratch import scratch_folder
from niah_score.report.layout import FILES, SUMMARY


@contextmanager
def scores_for(address: Address, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder, whose scores are uploaded at the end unless there was an error.

    Old scores are replaced only with `overwrite`: first their summary goes, then the others are written over. Raises
    ScoreError before anything is computed where they may not be replaced, AddressError and StoreError.
    """
    there = [name for name in objects_below(address) if name in FILES]
    if there and not overwrite:
        raise ScoreError(f"{address}: holds scores already ({there[0]}); choose another --out, or say --overwrite")
    with scratch_folder() as folder:
        yield folder
        new = sorted((path.name for path in folder.iterdir() if path.name in FILES), key=FILES.index)
        # Without their summary the old ones count no more; the new one is uploaded last.
        remove_objects(address / name for name in there if name == SUMMARY or name not in new)
        for name in new:
            upload(folder / name, address / name)
