"""Writes rows as Parquet files in which rows over the same haystack compress to nearly nothing.

Such rows are near-copies, so a compression window that spans two of them removes nearly everything: row groups are
written whole, and the compression level follows the row size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from niah_gen.rows.assemble import PendingRow
from niah_score.contract import COLUMNS, REPEATING_COLUMNS, PromptForm, row_schema

if TYPE_CHECKING:
    from niah_gen.dataset.arrow import Scratch

# Text that repeats within this many bytes is still in the 4 MiB window of zstd level 9, as nominal row sizes are up to
# a third too low; later repeats need the 8 MiB of level 17. A row over a shorter corpus repeats that corpus: 14 rows of
# a million tokens of essays (61 MB) take 0.1 s and 0.47 MB at level 9, 0.9 s and 0.24 to 0.28 MB at level 17. Rows of
# 2.5 MB over a corpus that does not repeat take 0.2 s and 1/40 of the text, and 2.4 s and 1/50 at level 17.
_LEVEL_9_AGAIN_BYTES = 3_000_000

# Short rows over one haystack that fill that window many times: level 9 indexes little of what it has matched, and
# stores the text again when the first copy leaves the window (200 rows of 140 kB: 103 kB; 54 kB at level 17).
_SHORT_ROW_BYTES = 200_000
_LEVEL_9_ALIKE_BYTES = 16_000_000


# For rows that share no text, where a window over two rows gains nothing: a row of a million tokens of keys and values
# takes 9 ms and 670 kB, at level 9 98 ms and 603 kB, at level 17 1.6 s and 497 kB. And for rows that repeat one line of
# noise, which every level compresses fully: a row of 128k tokens takes 0.7 ms and 1.4 kB, at level 9 5.2 ms and 1.7 kB.
_QUICK_LEVEL = 1


def compression_level(row_bytes: int, alike: int, *, quick: bool = False, again: int | None = None) -> int:
    """The zstd level for rows of `row_bytes` (nominal), `alike` of which share a haystack.

    `quick`: they share no text, or repeat the same few sentences. `again`: after how many bytes a row repeats its own
    text, if it does.

    Decided by sizes and families alone, never by timing, so that bytes are the same everywhere.
    """
    if quick:
        return _QUICK_LEVEL
    many_short = row_bytes <= _SHORT_ROW_BYTES and row_bytes * alike > _LEVEL_9_ALIKE_BYTES
    far = min(row_bytes, again or row_bytes) > _LEVEL_9_AGAIN_BYTES
    return 17 if many_short or far else 9


class ParquetWriter:
    """One Parquet file; each call writes one row group."""

    def __init__(self, file: IO[bytes], form: PromptForm, level: int, scratch: Scratch) -> None:
        import pyarrow.parquet as pq

        self._form = form
        self._scratch = scratch
        self._writer = pq.ParquetWriter(
            file,
            row_schema(form),
            compression="zstd",
            compression_level=level,
            use_dictionary=list(REPEATING_COLUMNS),
            # The least and the greatest prompt are of no use to readers.
            write_statistics=[name for name in COLUMNS if name != "prompt"],
            write_page_index=True,
            write_page_checksum=True,
            # One page per row group: by default, lists of messages are cut into 1 MiB pages, which lose the repeats.
            data_page_size=2**30,
        )

    def write(self, group: Sequence[PendingRow]) -> None:
        """Write rows as one row group."""
        from niah_gen.dataset.arrow import table

        self._writer.write_table(table(group, self._form, self._scratch), row_group_size=len(group))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
