"""Uploads a folder of scores to an address, summary.json last: until it is there, the scores do not count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from niah_score.errors import ScoreError
from niah_score.machine.files import scratch_folder
from niah_score.machine.stores import Address, objects_below, remove_objects, upload
from niah_score.report.layout import FILES, SUMMARY


@contextmanager
def scores_for(address: Address, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder; the scores written to it are uploaded at the end, unless there was an error.

    Old scores are replaced only with `overwrite`: their summary is removed first, then the other files are replaced.
    Raises ScoreError, before anything is computed, if they may not be replaced; AddressError and StoreError.
    """
    there = [name for name in objects_below(address) if name in FILES]
    if there and not overwrite:
        raise ScoreError(f"{address}: already holds scores ({there[0]}); choose another --out, or use --overwrite")
    with scratch_folder() as folder:
        yield folder
        new = sorted((path.name for path in folder.iterdir() if path.name in FILES), key=FILES.index)
        # Without their summary the old scores no longer count; the new summary is uploaded last.
        old = [name for name in there if name == SUMMARY or name not in new]
        remove_objects(address / name for name in sorted(old, key=lambda name: name != SUMMARY))
        for name in new:
            upload(folder / name, address / name)
