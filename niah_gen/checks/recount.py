"""Counts a dataset's prompts under another tokenizer: by config, by row, and what overflows a limit."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.dataset.read import RowGroup, jobs_for, over_row_groups, read_row_group, row_groups_of
from niah_gen.errors import SHOWN_PROBLEMS, IntegrityError
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import open_dataset
from niah_score.machine.files import atomic_file

if TYPE_CHECKING:
    from niah_gen.progress import Progress

_COLUMNS = ("id", "length", "prompt_tokens", "prompt")


class Recounted(NamedTuple):
    """A row under another tokenizer. `length`: nominal, `prompt_tokens`: as recorded, `tokens`: as counted now."""

    id: str
    config: str
    length: int
    prompt_tokens: int
    tokens: int


@dataclass
class Tally:
    """The rows of a config in order: their tokens as recorded and as counted now, and how many are above the limit."""

    recorded: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    over: int = 0


@dataclass(frozen=True)
class Recount:
    """A dataset under another tokenizer. `limit`: tokens; None: each row's length. `over`: the first rows above it."""

    recorded_by: str
    counted_by: str
    limit: int | None
    configs: dict[str, Tally]
    over: list[Recounted]


def recount(
    folder: Path,
    tokenizer: str,
    *,
    limit: int | None = None,
    csv_file: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Recount:
    """Count every prompt of a dataset anew, each encoded whole (chat: the sum over message contents).

    tokenizer: as a recipe names one. limit: tokens that no row should exceed; None: its nominal length. csv_file: gets
    id, config, length, prompt_tokens and tokens of every row. jobs: processes; None decides by size.
    Raises ContractError for a folder that is no dataset, TokenizerError, IntegrityError for rows that cannot be read.
    """
    dataset = open_dataset(folder)
    manifest, files = dataset.manifest, dataset.files()
    if not files:
        raise IntegrityError(f"{folder}: no file with rows is listed; verify the dataset, and build it again")
    found = Recount(manifest.tokenizer.name, find_tokenizer(tokenizer).name, limit, {}, [])
    pieces = [piece for file in files for piece in row_groups_of(folder, file.entry.path)]
    if progress:
        progress.start(manifest.rows, manifest.tokens)
    jobs = jobs_for(manifest.tokens) if jobs is None else jobs
    with ExitStack() as stack:
        table = stack.enter_context(atomic_file(csv_file)) if csv_file else None
        if table:
            table.write(_csv([Recounted._fields]))
        for rows in over_row_groups(_piece_counter, _CountSetup(folder, tokenizer), pieces, jobs):
            for row in rows:
                _add(found, row)
            if table:
                table.write(_csv(rows))
            if progress:
                progress.advance(len(rows), sum(row.prompt_tokens for row in rows))
    return found


def _config(path: str) -> str:
    """The config that a data file belongs to: the folder that it stands in."""
    return path.rpartition("/")[0].rpartition("/")[2]


def _csv(rows: Sequence[tuple[object, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _add(found: Recount, row: Recounted) -> None:
    tally = found.configs.setdefault(row.config, Tally())
    tally.recorded.append(row.prompt_tokens)
    tally.tokens.append(row.tokens)
    if row.tokens > (row.length if found.limit is None else found.limit):
        tally.over += 1
        if len(found.over) < SHOWN_PROBLEMS:
            found.over.append(row)


class _CountSetup(NamedTuple):
    """What a process needs to count rows."""

    folder: Path
    tokenizer: str


def _piece_counter(setup: _CountSetup) -> Callable[[RowGroup], list[Recounted]]:
    """The function that counts the rows of pieces."""
    tokenizer = find_tokenizer(setup.tokenizer)

    def count_piece(piece: RowGroup) -> list[Recounted]:
        rows = []
        for read in read_row_group(setup.folder, piece, _COLUMNS):
            contents = None if read.problem else _contents(read.value)
            if contents is None:
                raise IntegrityError(
                    f"{setup.folder / piece.path} row {read.number}: {read.problem or 'not a row with a prompt'}; "
                    "verify the dataset, and build it again"
                )
            tokens = sum(tokenizer.count(content) for content in contents)
            row = read.value
            rows.append(Recounted(row["id"], _config(piece.path), row["length"], row["prompt_tokens"], tokens))
        return rows

    return count_piece


def _contents(row: Any) -> list[str] | None:
    """The texts that a model reads; None for what is no row."""
    try:
        prompt = row["prompt"]
        contents = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
        for text in (row["id"], *contents):
            text.encode()  # half a surrogate pair is no text
        is_row = type(row["length"]) is type(row["prompt_tokens"]) is int
    except (KeyError, TypeError, AttributeError, ValueError):
        return None
    return contents if is_row else None


def report(found: Recount) -> Iterator[str]:
    """The lines to print: a table by config, and the first rows above the limit."""
    limit = "its length" if found.limit is None else f"{found.limit} tokens"
    head = ("config", "rows", found.recorded_by, "min", "mean", "max", "ratio", "over")
    body = [_line(name, tally) for name, tally in found.configs.items()]
    if len(found.configs) > 1:
        tallies = found.configs.values()
        everything = Tally(
            [tokens for tally in tallies for tokens in tally.recorded],
            [tokens for tally in tallies for tokens in tally.tokens],
            sum(tally.over for tally in tallies),
        )
        body.append(_line("all", everything))
    yield f"Tokens as recorded by {found.recorded_by}, under {found.counted_by} (min, mean, max); over: above {limit}."
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for line in (head, *body):
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        yield "  ".join(cells)
    over = sum(tally.over for tally in found.configs.values())
    if over:
        yield f"{over} rows are above {limit}:"
    for row in found.over:
        yield f"  {row.id} {row.tokens}"
    if over > len(found.over):
        yield f"  and {over - len(found.over)} more"


def _line(name: str, tally: Tally) -> tuple[str, ...]:
    rows, recorded, tokens = len(tally.tokens), sum(tally.recorded), sum(tally.tokens)
    return (
        name,
        str(rows),
        f"{min(tally.recorded)} to {max(tally.recorded)}",
        str(min(tally.tokens)),
        f"{tokens / rows:.1f}",
        str(max(tally.tokens)),
        f"{tokens / recorded:.3f}" if recorded else "-",
        str(tally.over),
    )
