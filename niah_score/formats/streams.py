"""Opens answer files, unpacks .gz and .zst, recognised by their first bytes, and reads their lines.

A compressed file must end with a whole frame. Only a line feed ends a line, because answers contain every other
character that some systems take for a line end.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

from niah_score.contract import open_regular
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.machine.files import reading
from niah_score.machine.limits import MAX_LINE, refuse_bomb

_CHUNK = 2**20
# Values of a JSON document, each of which takes up to 300 bytes.
_MAX_VALUES = 4_000_000
BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD, _ZSTD_SKIPPED = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"


class Source:
    """An open answer file. Each reading of its text begins anew, so that only one can be in use at a time.

    `path`: its name in messages. `first`: its first bytes, as they are in the file; `size`: in bytes.
    `of_dataset`: whether it holds rows of a dataset: they may unpack to any size, because prompts are near-copies of
    each other, and a damaged file is an IntegrityError.
    """

    def __init__(self, path: Path, file: BinaryIO, *, of_dataset: bool = False) -> None:
        self.path, self.file, self.of_dataset = path, file, of_dataset
        file.seek(0)
        self.first = file.read(4)
        self.size = os.fstat(file.fileno()).st_size

    def damaged(self, what: str) -> ScoreError:
        """The error for a file that is damaged."""
        if self.of_dataset:
            return IntegrityError(f"{self.path}: {what}; copy it again, or build it again")
        return ScoreError(f"{self.path}: {what}; get it again, or what there is in it")

    @contextmanager
    def _text(self) -> Iterator[BinaryIO]:
        """The unpacked text. Reading it in the block raises ScoreError if the file is damaged."""
        import pyarrow as pa

        self.file.seek(0)
        text = self.file
        if self.first.startswith((_GZIP, _ZSTD)) or self.first[1:4] == _ZSTD_SKIPPED:
            # Arrow closes what it has read; this file is read again.
            packed = pa.PythonFile(SimpleNamespace(read=text.read, close=bool, closed=False), "r")
            packing = "gzip" if self.first.startswith(_GZIP) else "zstd"
            text = io.BufferedReader(pa.CompressedInputStream(packed, packing), _CHUNK)
        try:
            yield text
        except OSError as error:
            if error.errno is not None:
                raise
            raise self.damaged(f"the compressed file is damaged or cut off ({error})") from None

    def _refuse_bomb(self, unpacked: int) -> None:
        if not self.of_dataset:
            refuse_bomb(self.path, unpacked, self.size)

    def head(self, size: int) -> bytes:
        """The first bytes of the text, without white space before them."""
        with self._text() as text:
            return text.read(size).removeprefix(BOM).lstrip()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number from 1.

        Raises ScoreError if the file is damaged, ResourceError for a long line and for a decompression bomb.
        """
        unpacked = 0
        with self._text() as text:
            for number in count(1):
                line = text.readline(MAX_LINE + 1)
                unpacked += len(line)
                self._refuse_bomb(unpacked)
                if len(line) > MAX_LINE:
                    raise ResourceError(
                        f"{self.path}:{number}: a line of more than {MAX_LINE:,} bytes; one record per line is expected"
                    )
                if not line:
                    return
                yield number, line.removeprefix(BOM) if number == 1 else line

    def whole(self) -> bytes:
        """All of the text. Raises what `lines` does, and ResourceError if it is too large to be parsed at once."""
        with self._text() as text:
            data = text.read(MAX_LINE + 1)
        self._refuse_bomb(len(data))
        if len(data) > MAX_LINE or data.count(b",") + data.count(b"[") + data.count(b"{") > _MAX_VALUES:
            raise ResourceError(
                f"{self.path}: a JSON document may have {MAX_LINE:,} bytes and {_MAX_VALUES:,} values (commas and "
                "opening brackets); write it as JSONL, one record per line, which may have any size (jq -c '.[]')"
            )
        return data.removeprefix(BOM)


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open an answer file. Raises ScoreError if it is not a file, OSError if the system refuses to read it."""
    with reading(path), open_regular(path) as file:
        yield Source(path, file)
