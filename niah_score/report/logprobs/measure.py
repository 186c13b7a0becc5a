"""Reads files of log-probabilities, takes from each record what its row asks for, and joins that to the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from niah_score.errors import ScoreError, suggestion
from niah_score.formats import expand
from niah_score.formats.logprobs.read import log_prob_format, read_log_probs
from niah_score.formats.logprobs.record import CONDITIONS, LogProbFormat, LogProbRecord
from niah_score.formats.record import Answer, Malformed, UnreadableError
from niah_score.join.join import ON_DUPLICATE, Lines, Problem, join
from niah_score.join.reading import frames_of
from niah_score.join.target_rows import TargetRow, TargetRows
from niah_score.scoring.target_tokens import PER, Measured, OtherTokenizerError, Per
from niah_score.text.visible import without_surrogates

# What happens to rows without all log-probabilities: the run ends; they are left out; their known tokens count.
MISSING = ("error", "exclude", "partial")
_SAMPLES = ", or, if they are samples, --samples mean, best or majority"

# Takes from a record what a row asks for, given the tokenizer's name. Raises OtherTokenizerError, UnreadableError.
Take = Callable[[LogProbRecord, TargetRow, str | None], Measured]


class Asked(NamedTuple):
    """How to read log-probabilities. `per`: token or byte. `tokenizer`: of records that do not name theirs."""

    per: Per = "token"
    tokenizer: str | None = None
    format: str | None = None
    missing: str = "error"
    on_duplicate: str = "error"


# Per token of the dataset's tokenizer, with nothing missing.
USUAL = Asked()


class Measures(NamedTuple):
    """What was measured, by row id and condition; what became of the lines, and what was wrong with them."""

    of_rows: dict[tuple[str, str], Measured]
    lines: Lines
    problems: list[Problem]


def check_asked(asked: Asked) -> None:
    """Raise ScoreError for an unknown word."""
    for name, value, known in (
        ("missing", asked.missing, MISSING), ("per", asked.per, PER), ("on_duplicate", asked.on_duplicate, ON_DUPLICATE)
    ):  # fmt: skip
        if value not in known:
            raise ScoreError(f"{name}: {value!r} is unknown; {suggestion(value, known)}")
    log_prob_format(asked.format)


def measures(targets: TargetRows, files: Sequence[str | Path], asked: Asked, take: Take) -> Measures:
    """Join records to rows. Raises ScoreError, also for tokens that are not from the dataset's tokenizer."""
    paths = expand(files, "files of log-probabilities")
    names = [without_surrogates(str(path)) for path in paths]
    forced = log_prob_format(asked.format)
    rows = targets.joinable

    try:
        frames = (
            frame
            for name, path in zip(names, paths, strict=True)
            for frame in frames_of(name, _answers(targets, path, forced, asked, take))
        )
        joined = join(rows, frames, on_duplicate=asked.on_duplicate)
    except ScoreError as error:
        if type(error) is ScoreError and _SAMPLES in str(error):
            raise ScoreError(str(error).replace(_SAMPLES, "")) from None
        raise
    if not joined.lines.read:
        raise ScoreError(f"{', '.join(names)}: no log-probabilities in it; did the run finish?")
    if joined.lines.malformed == joined.lines.read:
        raise ScoreError(f"{joined.problems[0]}; none of {joined.lines.read:,} records can be read")
    if joined.lines.read != sum(joined.lines[1:]):
        raise AssertionError(f"lines do not sum up: {joined.lines}")
    ids = rows.table["id"].to_list()
    of_rows = {
        (ids[place], CONDITIONS[sample]): Measured(*orjson.loads(text))
        for place, sample, text in joined.answers.select("place", "sample", "text").iter_rows()
    }
    return Measures(of_rows, joined.lines, joined.problems)


def _answers(
    targets: TargetRows, path: Path, forced: LogProbFormat | None, asked: Asked, take: Take
) -> Iterator[Answer | Malformed]:
    """Records as answers for `join`: `text` is what was measured, as JSON, `sample` the index of the condition."""
    for record in read_log_probs(path, forced):
        if isinstance(record, Malformed):
            yield record
            continue
        prompt = record.prompt
        row = targets.by_id.get(record.id) if record.id is not None else None
        if row is None and prompt is not None:
            row = targets.by_prompt.get(prompt.sha256)
        text = None
        if row is not None:
            try:
                text = orjson.dumps([*take(record, row, record.tokenizer or asked.tokenizer)]).decode()
            except UnreadableError as error:
                yield Malformed(record.line, f"row {row.id}: {error}")
                continue
            except OtherTokenizerError as error:
                raise ScoreError(_other_tokenizer(path, record.line, row, error, asked)) from None
        yield Answer(
            record.id if row is None else row.id, text, None, "", None, prompt.sha256 if prompt and not row else None,
            None, CONDITIONS.index(record.condition), record.line, None, None, None, None,
        )  # fmt: skip


def _other_tokenizer(path: Path, line: int, row: TargetRow, error: OtherTokenizerError, asked: Asked) -> str:
    what = f"{path}:{line}: row {row.id}: {error}. These are not tokens of {row.tokenizer!r}, the dataset's tokenizer"
    if asked.per == "token":
        same = f"; if it is the dataset's but records cannot say so, pass --tokenizer {row.tokenizer}"
        return (
            f"{what}: build the dataset with the model's tokenizer (--tokenizer), or normalise by bytes (--per byte)"
            f"{same if error.unstated else ''}"
        )
    return f"{what}, and they cannot be told apart by bytes either"
