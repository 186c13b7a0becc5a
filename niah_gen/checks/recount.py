"""Counts a dataset's prompts under a model's tokenizer and chat template: by config, by row, and what does not fit."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.dataset.read import jobs_for, over_files, rows_in
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

    @property
    def needs(self) -> int:
        """Tokens of the prompt and its answer."""
        return self.tokens + self.output


class Recount(NamedTuple):
    """A dataset under another tokenizer. `template`: the chat template that was applied.

    `limit`: tokens of prompt and answer; None: each row's length, for the prompt alone. `output`: tokens of every
    answer; None: each row's max_new_tokens. `rows`: in order.
    """

    recorded_by: str
    counted_by: str
    template: Path | None
    limit: int | None
    output: int | None
    rows: list[Recounted]

    def is_over(self, row: Recounted) -> bool:
        """Whether a row is above the limit."""
        return 0 < row.length < row.tokens if self.limit is None else row.needs > self.limit


def recount(
    folder: Path,
    tokenizer: str,
    *,
    limit: int | None = None,
    output: int | None = None,
    chat_template: bool = True,
    system: str | None = None,
    csv_file: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Recount:
    """Count every prompt of a dataset again, encoding each whole.

    If the tokenizer's folder has a chat template, messages are rendered with it (a text as one user message) and what
    it adds is counted. Otherwise, or without `chat_template`, a chat counts as the sum of its messages' contents.

    tokenizer: as a recipe names one. limit: tokens that no prompt with its answer should exceed; None: the row's
    nominal length, for the prompt alone. output: tokens of an answer; None: the row's max_new_tokens. system: a message
    that will be sent before every prompt. csv_file: gets id, config, length, prompt_tokens, tokens and output of every
    row. jobs: processes; None decides by size.
    Raises ContractError if the folder is not a dataset, TokenizerError (also for prompts that the chat template
    refuses), IntegrityError if rows cannot be read.
    """
    dataset = open_dataset(folder)
    manifest, files = dataset.manifest, dataset.files()
    if not files:
        raise IntegrityError(f"{folder}: no file with rows is listed; verify the dataset, and build it again")
    template = find_chat_template(tokenizer) if chat_template else None
    counted_by = find_tokenizer(tokenizer).name
    counts = Recount(manifest.tokenizer.name, counted_by, template.file if template else None, limit, output, [])
    if progress:
        progress.start(manifest.rows, manifest.tokens)
    jobs = jobs_for(manifest.tokens) if jobs is None else jobs
    with ExitStack() as stack:
        table = stack.enter_context(atomic_file(csv_file)) if csv_file else None
        setup = (folder, tokenizer, template, output, system)
        paths = [file.entry.path for file in files]
        for rows in over_files(_counter, setup, paths, jobs):
            counts.rows.extend(rows)
            if progress:
                progress.advance(len(rows), sum(row.prompt_tokens for row in rows))
        if table:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([Recounted._fields, *counts.rows])
            table.write(text.getvalue().encode())
    return counts


def _counter(setup: tuple[Path, str, ChatTemplate | None, int | None, str | None]) -> Callable[[str], list[Recounted]]:
    """The function that counts the rows of a data file."""
    folder, spec, template, output, system = setup
    before = [{"role": "system", "content": system}] if system else []
    count_text = find_tokenizer(spec).count if template is None else None
    count_messages = chat_counter(spec, template) if template is not None else None

    def count(prompt: Any) -> int:
        messages = before + ([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
        if count_messages is not None:
            return count_messages(messages)
        assert count_text is not None
        return sum(count_text(message["content"]) for message in messages)

    def count_file(path: str) -> list[Recounted]:
        config = Path(path).parent.name
        rows = []
        for number, row in enumerate(rows_in(folder / path, _COLUMNS), 1):
            if not _is_row(row):
                raise IntegrityError(
                    f"{folder / path} row {number}: not a row with a prompt; verify the dataset, and build it again"
                )
            answer = row["max_new_tokens"] if output is None else output
            tokens = count(row["prompt"])
            rows.append(Recounted(row["id"], config, row["length"] or 0, row["prompt_tokens"], tokens, answer))
        return rows

    return count_file


def _is_row(row: Any) -> bool:
    """Whether this is a row whose prompt can be counted."""
    try:
        prompt = row["prompt"]
        texts = [prompt] if isinstance(prompt, str) else [m[name] for m in prompt for name in ("role", "content")]
        for text in (row["id"], *texts):
            text.encode()  # half a surrogate pair is not text
        numbers = (row["prompt_tokens"], row["max_new_tokens"], row["length"] or 0)
        return all(type(number) is int for number in numbers)
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
    configs: dict[str, list[Recounted]] = {}
    for row in counts.rows:
        configs.setdefault(row.config, []).append(row)
    over = [row for row in counts.rows if counts.is_over(row)]
    lines = [["config", "rows", counts.recorded_by, "min", "mean", "max", "ratio", "over"]]
    everything = [("all", counts.rows)] if len(configs) > 1 else []
    lines += [_line(name, rows, sum(map(counts.is_over, rows))) for name, rows in [*configs.items(), *everything]]
    under = counts.counted_by + (f" with {counts.template.name}" if counts.template else "")
    if counts.template and counts.template.suffix == ".json":
        under = f"{counts.counted_by} with the chat template of {counts.template.name}"
    yield f"Tokens as recorded by {counts.recorded_by}, under {under} (min, mean, max); over: above {limit}."
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells])
    if counts.rows:
        row = max(counts.rows, key=lambda row: row.needs)
        yield f"The largest row needs {row.needs} tokens, {row.tokens} of prompt and {row.output} of output."
    if over:
        yield f"{len(over)} rows are above {limit}:"
    for row in over[:SHOWN_PROBLEMS]:
        yield f"  {row.id} {row.tokens}" + ("" if counts.limit is None else f" + {row.output}")
    if len(over) > SHOWN_PROBLEMS:
        yield f"  and {len(over) - SHOWN_PROBLEMS} more"


def _line(name: str, rows: Sequence[Recounted], over: int) -> list[str]:
    recorded, tokens = [row.prompt_tokens for row in rows], [row.tokens for row in rows]
    mean, ratio = sum(tokens) / len(rows), f"{sum(tokens) / sum(recorded):.3f}" if sum(recorded) else "-"
    recorded_range = f"{min(recorded)} to {max(recorded)}"
    return [name, str(len(rows)), recorded_range, str(min(tokens)), f"{mean:.1f}", str(max(tokens)), ratio, str(over)]
