"""Counts a dataset's prompts under a model's tokenizer and chat template: by config, by row, and what does not fit."""

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
from niah_gen.tokenizers.chat_template import ChatTemplate, chat_counter, find_chat_template
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import open_dataset
from niah_score.machine.files import atomic_file

if TYPE_CHECKING:
    from niah_gen.progress import Progress

_COLUMNS = ("id", "length", "prompt_tokens", "max_new_tokens", "prompt")


class Recounted(NamedTuple):
    """A row under another tokenizer. `length`: nominal, `prompt_tokens`: as recorded, `tokens`: as counted now.

    `output`: tokens of the answer that must fit after the prompt.
    """

    id: str
    config: str
    length: int
    prompt_tokens: int
    tokens: int
    output: int


@dataclass
class Tally:
    """The rows of a config in order: their tokens as recorded and as counted now, and how many are above the limit."""

    recorded: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    over: int = 0


@dataclass
class Recount:
    """A dataset under another tokenizer. `template`: the chat template that was applied.

    `limit`: tokens of prompt and answer; None: each row's length, for the prompt alone. `output`: tokens of every
    answer; None: each row's max_new_tokens. `over`: the first rows above the limit. `largest`: the row that needs the
    most tokens.
    """

    recorded_by: str
    counted_by: str
    template: Path | None
    limit: int | None
    output: int | None
    configs: dict[str, Tally]
    over: list[Recounted]
    largest: Recounted | None = None


def recount(
    folder: Path,
    tokenizer: str,
    *,
    limit: int | None = None,
    output: int | None = None,
    chat_template: bool = True,
    csv_file: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Recount:
    """Count every prompt of a dataset again, encoding each whole.

    If the tokenizer's folder has a chat template, messages are rendered with it (a text as one user message) and what
    it adds is counted. Otherwise, or without `chat_template`, a chat counts as the sum of its messages' contents.

    tokenizer: as a recipe names one. limit: tokens that no prompt with its answer should exceed; None: the row's
    nominal length, for the prompt alone. output: tokens of an answer; None: the row's max_new_tokens. csv_file: gets
    id, config, length, prompt_tokens, tokens and output of every row. jobs: processes; None decides by size.
    Raises ContractError if the folder is not a dataset, TokenizerError (also for prompts that the chat template
    refuses), IntegrityError if rows cannot be read.
    """
    dataset = open_dataset(folder)
    manifest, files = dataset.manifest, dataset.files()
    if not files:
        raise IntegrityError(f"{folder}: no file with rows is listed; verify the dataset, and build it again")
    template = find_chat_template(tokenizer) if chat_template else None
    counted_by = find_tokenizer(tokenizer).name
    counts = Recount(manifest.tokenizer.name, counted_by, template.file if template else None, limit, output, {}, [])
    pieces = [piece for file in files for piece in row_groups_of(folder, file.entry.path)]
    if progress:
        progress.start(manifest.rows, manifest.tokens)
    jobs = jobs_for(manifest.tokens) if jobs is None else jobs
    with ExitStack() as stack:
        table = stack.enter_context(atomic_file(csv_file)) if csv_file else None
        if table:
            table.write(_csv([Recounted._fields]))
        for rows in over_row_groups(_piece_counter, _CountSetup(folder, tokenizer, template, output), pieces, jobs):
            for row in rows:
                _add(counts, row)
            if table:
                table.write(_csv(rows))
            if progress:
                progress.advance(len(rows), sum(row.prompt_tokens for row in rows))
    return counts


def _config(path: str) -> str:
    """The config of a data file: the folder that it is in."""
    return path.rpartition("/")[0].rpartition("/")[2]


def _csv(rows: Sequence[tuple[object, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _add(counts: Recount, row: Recounted) -> None:
    tally = counts.configs.setdefault(row.config, Tally())
    tally.recorded.append(row.prompt_tokens)
    tally.tokens.append(row.tokens)
    if counts.largest is None or row.tokens + row.output > counts.largest.tokens + counts.largest.output:
        counts.largest = row
    if 0 < row.length < row.tokens if counts.limit is None else row.tokens + row.output > counts.limit:
        tally.over += 1
        if len(counts.over) < SHOWN_PROBLEMS:
            counts.over.append(row)


class _CountSetup(NamedTuple):
    """What a process needs to count rows."""

    folder: Path
    tokenizer: str
    template: ChatTemplate | None
    output: int | None


def _piece_counter(setup: _CountSetup) -> Callable[[RowGroup], list[Recounted]]:
    """The function that counts the rows of pieces."""
    count = _prompt_counter(setup.tokenizer, setup.template)

    def count_piece(piece: RowGroup) -> list[Recounted]:
        rows = []
        for read in read_row_group(setup.folder, piece, _COLUMNS):
            if read.problem or not _is_row(read.value):
                raise IntegrityError(
                    f"{setup.folder / piece.path} row {read.number}: {read.problem or 'not a row with a prompt'}; "
                    "verify the dataset, and build it again"
                )
            row = read.value
            output = row["max_new_tokens"] if setup.output is None else setup.output
            tokens = count(row["prompt"])
            rows.append(
                Recounted(row["id"], _config(piece.path), row["length"] or 0, row["prompt_tokens"], tokens, output)
            )
        return rows

    return count_piece


def _prompt_counter(spec: str, template: ChatTemplate | None) -> Callable[[Any], int]:
    """Counts a prompt: a text, or messages."""
    if template is None:
        tokenizer = find_tokenizer(spec)
        return lambda prompt: sum(
            map(tokenizer.count, [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt])
        )
    count = chat_counter(spec, template)
    return lambda prompt: count([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)


def _is_row(row: Any) -> bool:
    """Whether this is a row whose prompt can be counted."""
    try:
        prompt = row["prompt"]
        texts = [prompt] if isinstance(prompt, str) else [m[name] for m in prompt for name in ("role", "content")]
        for text in (row["id"], *texts):
            text.encode()  # half a surrogate pair is not text
        whole = all(type(row[name]) is int for name in ("prompt_tokens", "max_new_tokens"))
        return whole and (row["length"] is None or type(row["length"]) is int)
    except (KeyError, TypeError, AttributeError, ValueError):
        return False


def report(counts: Recount) -> Iterator[str]:
    """The lines to print: a table by config, what the largest row needs, and the first rows above the limit."""
    if counts.limit is None:
        limit = "its length"
    elif counts.output is None:
        limit = f"{counts.limit} tokens with max_new_tokens of output"
    else:
        limit = f"{counts.limit} tokens" + (f" with {counts.output} of output" if counts.output else "")
    head = ("config", "rows", counts.recorded_by, "min", "mean", "max", "ratio", "over")
    body = [_line(name, tally) for name, tally in counts.configs.items()]
    if len(counts.configs) > 1:
        tallies = counts.configs.values()
        everything = Tally(
            [tokens for tally in tallies for tokens in tally.recorded],
            [tokens for tally in tallies for tokens in tally.tokens],
            sum(tally.over for tally in tallies),
        )
        body.append(_line("all", everything))
    under = counts.counted_by + (f" with {counts.template.name}" if counts.template else "")
    if counts.template and counts.template.suffix == ".json":
        under = f"{counts.counted_by} with the chat template of {counts.template.name}"
    yield f"Tokens as recorded by {counts.recorded_by}, under {under} (min, mean, max); over: above {limit}."
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for line in (head, *body):
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        yield "  ".join(cells)
    if counts.largest:
        row = counts.largest
        needs = f"{row.tokens + row.output} tokens, {row.tokens} of prompt and {row.output} of output"
        yield f"The largest row needs {needs}."
    over = sum(tally.over for tally in counts.configs.values())
    if over:
        yield f"{over} rows are above {limit}:"
    for row in counts.over:
        yield f"  {row.id} {row.tokens}" + ("" if counts.limit is None else f" + {row.output}")
    if over > len(counts.over):
        yield f"  and {over - len(counts.over)} more"


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
