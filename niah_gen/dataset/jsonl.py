"""Writes rows as JSON Lines, plain, gzip or zstd, with the same bytes everywhere."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import IO, Any

from niah_gen.rows.assemble import PendingRow

# Common readers cannot open windows larger than 2**27.
_WINDOW_LOG = 27


class JsonlWriter:
    """One JSON object per line, columns in file order; plain, .gz or .zst. Compressed files end with a checksum."""

    def __init__(self, file: IO[bytes], suffix: str) -> None:
        self._owned: gzip.GzipFile | Any = None
        if suffix == "jsonl.gz":
            self._owned = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
        elif suffix == "jsonl.zst":
            import zstandard

            parameters = zstandard.ZstdCompressionParameters.from_level(
                3, window_log=_WINDOW_LOG, enable_ldm=True, write_checksum=True
            )
            compressor = zstandard.ZstdCompressor(compression_params=parameters)
            self._owned = compressor.stream_writer(file, closefd=False)
        self._out = self._owned or file

    def write(self, group: Sequence[PendingRow]) -> None:
        """Append rows."""
        import orjson

        for draft in group:
            # The prompt is the last column, so its JSON goes in before the closing brace.
            head = orjson.dumps(draft.truth)[:-1]
            self._out.write(b"".join((head, b',"prompt":', *draft.json, b"}\n")))

    def close(self) -> None:
        """Finish the compressed frame."""
        if self._owned is not None:
            self._owned.close()
