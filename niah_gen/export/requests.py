"""Writes batch requests into files, each within the limits of the service, and reads `--body KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from niah_gen.errors import NiahError, ResourceError
from niah_gen.export.base import ExportOptions, ExportRow, WrittenFile, messages_of, reply_limit
from niah_score.contract import BATCH_REQUESTS, BatchLimits, RequestSettings
from niah_score.machine.files import atomic_file

# The glob for the number in a file name: exact, as it decides which files are replaced, and answers may be beside them.
NUMBER = "[0-9]" * 5
# The fields of a chat request that the export fills in, and how to set them instead.
CHAT_FIELDS = {"model": "use --model", "messages": "it is the prompt", "max_tokens": "use --max-tokens"}
REQUEST_OPTIONS = ("fields", "system", "max_tokens", "more_tokens", "max_requests", "max_bytes")


class Framing(NamedTuple):
    """What a file has before the first request, between two, and after the last."""

    before: bytes = b""
    between: bytes = b"\n"
    after: bytes = b"\n"


LINES = Framing()


def request_of(form: str, row: ExportRow, options: ExportOptions) -> dict[str, Any]:
    """The request of a row, in the form that BATCH_REQUESTS has under the name `form`."""
    settings = RequestSettings(options.model or "", reply_limit(row, options), fields=options.fields)
    return BATCH_REQUESTS[form](row["id"], messages_of(row, options), settings)


def write_requests(
    requests: Iterator[tuple[str, bytes]],
    folder: Path,
    stem: str,
    limits: BatchLimits,
    options: ExportOptions,
    framing: Framing = LINES,
    suffix: str = ".jsonl",
) -> list[WrittenFile]:
    """Write (row id, request) pairs into `stem`-00000, -00001 ..., as many in each as the limits allow.

    One request is in memory at a time. Raises ResourceError for a request that no file can hold.
    """
    most = _least(limits.requests, options.max_requests)
    room = _least(limits.bytes, options.max_bytes)
    around = len(framing.before) + len(framing.after)
    written: list[WrittenFile] = []
    rows = size = 0
    with ExitStack() as opened:
        file: IO[bytes] | None = None
        for name, request in requests:
            if room is not None and around + len(request) > room:
                raise ResourceError(
                    f"row {name}: its request alone makes a file of {around + len(request):,} bytes, and the limit is "
                    f"{room:,}; leave such rows out with --subset"
                )
            full = rows == most or (room is not None and size + len(framing.between) + len(request) > room)
            if file is not None and full:
                file.write(framing.after)
                opened.close()
                written.append(WrittenFile(_name(stem, len(written), suffix), rows, size))
                file = None
            if file is None:
                file = opened.enter_context(atomic_file(folder / _name(stem, len(written), suffix)))
                file.write(framing.before)
                rows, size = 0, around
            else:
                file.write(framing.between)
                size += len(framing.between)
            file.write(request)
            rows, size = rows + 1, size + len(request)
        if file is not None:
            file.write(framing.after)
            written.append(WrittenFile(_name(stem, len(written), suffix), rows, size))
    return written


def _name(stem: str, number: int, suffix: str) -> str:
    return f"{stem}-{number:05d}{suffix}"


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def read_fields(assignments: Sequence[str]) -> dict[str, Any]:
    """The fields of `KEY=VALUE` words. A key may be a path (`thinking.type`); a value that is not JSON is a text.

    Raises NiahError for a word without `=`, an empty name, and a key that is given twice or is both value and table.
    """
    fields: dict[str, Any] = {}
    for word in assignments:
        key, equals, text = word.partition("=")
        path = key.split(".")
        if not equals or not all(path):
            raise NiahError(f"--body {word!r}: expected KEY=VALUE, such as temperature=0.7 or thinking.type=adaptive")
        table: Any = fields
        for name in path[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise NiahError(f"--body {word!r}: {name!r} already has a value; give each key once")
        if path[-1] in table:
            raise NiahError(f"--body {word!r}: {key!r} already has a value; give each key once")
        table[path[-1]] = _value(text)
    return fields


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def refusing(reserved: Mapping[str, str]) -> Callable[[ExportOptions], None]:
    """A check that refuses --body for the fields that the export fills in, and says what to use instead."""

    def check(options: ExportOptions) -> None:
        for path, instead in reserved.items():
            table: Any = options.fields
            *above, last = path.split(".")
            for name in above:
                table = table.get(name) if isinstance(table, Mapping) else None
            if isinstance(table, Mapping) and last in table:
                raise NiahError(f"--body {path}: the export fills this field in; {instead}")

    return check
