"""Has small datasets treated as large ones: through temporary files, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from niah_score.join import join_on_disk, rows_on_disk
from niah_score.report.page import examples


@contextmanager
def taken_for_large(rows: int = 4, chunk: int = 3) -> Iterator[None]:
    """Within this block, datasets of more than `rows` rows are kept on disk and scored `chunk` rows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_on_disk, "MOST_IN_MEMORY", rows)
        patch.setattr(rows_on_disk, "CHUNK_ROWS", chunk)
        patch.setattr(rows_on_disk, "_PAGE_ROWS", 2)
        patch.setattr(rows_on_disk, "_STEP", 2)
        patch.setattr(join_on_disk, "_PART_CHUNKS", 2)
        patch.setattr(join_on_disk, "_MOST_HELD", 5)
        patch.setattr(examples, "_SORTED_TOGETHER", 7)
        yield
