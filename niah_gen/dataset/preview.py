"""Writes the preview: some rows of every kind with their prompts cut short, for viewers that cannot show long prompts.

The manifest lists its file, but its rows are not the dataset's: no digest or count includes them.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.rows.plan import Plan
from niah_score.contract import PREVIEW, SPLIT, FileEntry, PromptForm, Span, canonical_json, row_schema, sha256_hex
from niah_score.machine.files import write_atomically

if TYPE_CHECKING:
    import pyarrow as pa

# What the Hub's viewer shows on one page.
_MOST_ROWS = 100
_MOST_OF_A_KIND = 5
# Columns that stay true of a prompt that was cut: no spans, no hash of it.
COLUMNS = (
    "id", "part", "control", "language", "corpus", "length", "depth_percent", "needle_id", "question", "answers",
    "needles", "decoys", "metric", "prompt_tokens", "prompt",
)  # fmt: skip

# Characters of a prompt to keep: at its beginning, at its end, around a needle, and of a needle itself.
_HEAD, _TAIL, _AROUND, _NEEDLE = 240, 400, 160, 400
_MOST_NEEDLES = 4
_MOST_MESSAGES = 6
# The longest text in any other column; gaps shorter than this are not cut, as the replacement would be as long.
_MOST_TEXT, _LEAST_GAP = 1000, 60


def chosen_rows(plan: Plan) -> list[list[int]]:
    """The rows that the preview shows: for each shard, their positions in it, from 0.

    Up to five rows of each part and control in each config, each time from different positions, so that depths and
    needles vary; evenly thinned to 100.
    """
    kinds: dict[tuple[str, str | None, str | None], list[int]] = {}
    for number, cell in enumerate(plan.cells):
        kinds.setdefault((cell.config, cell.part, cell.control), []).append(number)
    each = max(1, min(_MOST_OF_A_KIND, _MOST_ROWS // max(1, len(kinds))))
    # Multiples of the golden ratio spread evenly, however many there are.
    rows = sorted(
        {
            cells[(each * turn + number) * 618 % 1000 * len(cells) // 1000]
            for turn, cells in enumerate(kinds.values())
            for number in range(each)
        }
    )
    count = min(len(rows), _MOST_ROWS)
    rows = [rows[turn * len(rows) // count] for turn in range(count)]
    return [[row - shard.first for row in rows if shard.first <= row < shard.last] for shard in plan.shards]


def write_entry(path: Path, data: bytes) -> FileEntry:
    """Write a file without rows, whole or not at all; returns its entry, with the file's name as its path."""
    write_atomically(path, data)
    return FileEntry(path.name, sha256_hex(data), None, len(data))


def write_preview(folder: Path, short: Sequence[Mapping[str, Any]], suffix: str, form: PromptForm) -> FileEntry:
    """Write the preview of a dataset folder; returns its entry in the manifest.

    short: the results of `short_row`, in dataset order. suffix: the format of the data files that the card names, as
    `datasets` reads all configs of a card with one reader.
    """
    lines = b"".join(canonical_json(row) + b"\n" for row in short)
    if suffix == "parquet":
        import pyarrow as pa
        import pyarrow.json as pj
        import pyarrow.parquet as pq

        # A table made of Python values would import pandas, if it is installed, for a second.
        parsing = pj.ParseOptions(explicit_schema=preview_schema(form))
        table = pj.read_json(pa.BufferReader(lines), pj.ReadOptions(block_size=len(lines) + 1), parsing)
        out = io.BytesIO()
        pq.write_table(table.select(COLUMNS), out, compression="zstd", compression_level=9, write_page_checksum=True)
        data = out.getvalue()
    else:
        suffix, data = "jsonl", lines
    path = f"{PREVIEW}/{SPLIT}.{suffix}"
    entry = write_entry(folder / path, data)
    return FileEntry(path, entry.sha256, None, entry.bytes)


def preview_schema(form: PromptForm) -> pa.Schema:
    """The Arrow schema of the preview's rows."""
    import pyarrow as pa

    whole = row_schema(form)
    return pa.schema([whole.field(name) for name in COLUMNS])


def excerpt(text: str, spans: Sequence[Span] = ()) -> str:
    """A prompt's beginning, its end and the text around its first needles, with the number of characters between."""
    wanted = [(0, _HEAD), (len(text) - _TAIL, len(text))]
    wanted += [
        (span["start"] - _AROUND, min(span["end"], span["start"] + _NEEDLE) + _AROUND) for span in spans[:_MOST_NEEDLES]
    ]
    shown, at = "", 0
    for start, end in kept_ranges(len(text), wanted, _LEAST_GAP):
        shown += f" [... {start - at:,} characters ...] " if start > at else ""
        shown += text[start:end]
        at = end
    return shown


def short_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as the preview shows it."""
    short = {name: _short(row[name]) for name in COLUMNS}
    prompt, context = row["prompt"], row["context_message"]
    if isinstance(prompt, str):
        return {**short, "prompt": excerpt(prompt, row["needle_spans"])}
    numbers = kept_messages(len(prompt), [context] if context >= 0 else [], _MOST_MESSAGES)
    messages = []
    for before, number in zip([-1, *numbers], numbers, strict=False):
        text = excerpt(prompt[number]["content"], row["needle_spans"] if number == context else ())
        left_out = number - before - 1
        gap = f"[... {left_out:,} messages ...] " if left_out else ""
        messages.append({"role": prompt[number]["role"], "content": gap + text})
    return {**short, "prompt": messages}


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return f"{value[:_MOST_TEXT]} [... {len(value) - _MOST_TEXT:,} characters ...]"
    return value


def kept_ranges(length: int, wanted: Iterable[tuple[int, int]], least_gap: int) -> list[tuple[int, int]]:
    """The ranges to show of a text of `length` characters: disjoint, in order, within the text.

    wanted: ranges in any order, which may overlap or reach beyond the text. A gap of fewer than `least_gap` characters
    is shown too, since its replacement would be no shorter.
    """
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in sorted(wanted):
        start = max(start if start - at >= least_gap else at, at)
        end = min(end, length)
        if end <= start:
            continue
        if ranges and start == at:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
        at = end
    return ranges


def kept_messages(count: int, wanted: Collection[int], most: int) -> list[int]:
    """The messages to show of a conversation: all, or if more than `most` the first two, last two and wanted ones."""
    if count <= most:
        return list(range(count))
    return sorted({0, 1, count - 2, count - 1, *wanted})
