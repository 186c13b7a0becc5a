"""Writes rows as Parquet files whose near-copies side by side compress to nearly nothing.

Rows that share a haystack are near-copies, so a window that spans two rows compresses nearly everything away: row
groups are written whole, and the compression level follows the row size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from niah_gen.rows.assemble import PendingRow
from niah_score.contract import COLUMNS, REPEATING_COLUMNS, PromptForm, row_schema

if TYPE_CHECKING:
    from niah_gen.dataset.arrow import Scratch

# Text that comes again after so many bytes is still in the 4 MiB window of zstd level 9, the nominal size of a row
# being up to a third too low; what comes again later needs the 8 MiB of level 17. A row over a shorter corpus repeats
# it, so 14 rows of a million tokens of essays (61 MB) take 0.1 s and 0.47 MB, by level 17 0.9 s and 0.24 to 0.28 MB;
# rows of 2.5 MB, of a corpus that does not repeat, 0.2 s and 1/40 of the text, by level 17 2.4 s and 1/50.
_LEVEL_9_AGAIN_BYTES = 3_000_000

# Short rows over one haystack that go through that window many times: level 9 indexes little of what it has matched,
# and stores the text again when the first copy leaves the window (200 rows of 140 kB: 103 kB, by level 17 54 kB).
_SHORT_ROW_BYTES = 200_000
_LEVEL_9_ALIKE_BYTES = 16_000_000


# For rows that share no text, in which a window over two rows finds nothing: a row of a million tokens of keys and
# values takes 9 ms and 670 kB, by level 9 98 ms and 603 kB, by level 17 1.6 s and 497 kB. And for rows of one line of
# noise over and over, in which every level finds all: a row of 128k tokens takes 0.7 ms and 1.4 kB, by level 9 5.2 ms
# and 1.7 kB.
_QUICK_LEVEL = 1


def compression_level(row_bytes: int, alike: int, *, quick: bool = False, again: int | None = None) -> int:
    """The zstd level for rows of a nominal size, `alike` of which share a haystack.

    `quick`: they share no text, or all of them say the same few sentences over and over. `again`: after how many bytes
    a row repeats its own text, if it does.

    By sizes and families alone, never by timing, so that bytes are the same everywhere.
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
            # Of the least and the greatest prompt nobody can make use.
            write_statistics=[name for name in COLUMNS if name != "prompt"],
            write_page_index=True,
            write_page_checksum=True,
            # One page a row group: by default lists of messages are cut into pages of 1 MiB and lose the repeats.
            data_page_size=2**30,
        )

    def write(self, group: Sequence[PendingRow]) -> None:
        """Write rows as one row group."""
        from niah_gen.dataset.arrow import table

        self._writer.write_table(table(group, self._form, self._scratch), row_group_size=len(group))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
