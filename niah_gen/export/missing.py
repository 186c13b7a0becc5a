"""Finds which rows have an answer already, in the answer files of any stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import NiahError
from niah_gen.export.dataset_rows import IndexedRow
from niah_score.errors import ScoreError
from niah_score.formats import Answer, expand, read_answers
from niah_score.formats.record import NoAnswersError


class Answered(NamedTuple):
    """The ids of rows that have an answer, and how many records are errors, or of no row of this dataset, or broken."""

    ids: frozenset[str]
    errors: int
    strangers: int
    broken: int


def answered(paths: Sequence[Path], rows: Sequence[IndexedRow]) -> Answered:
    """Which rows have an answer in files, folders or patterns. An error is none, unless it came with a text.

    Raises NiahError for files that cannot be read, whose answers are told apart by order alone, or that answer only
    rows of other datasets.
    """
    ids = {row.id for row in rows}
    prompts: dict[str, list[str]] = {}
    for row in rows:
        prompts.setdefault(str(row.columns["prompt_sha256"]), []).append(row.id)
    found: set[str] = set()
    seen: Counter[Any] = Counter()
    errors = strangers = broken = known = 0
    try:
        for path in expand(list(paths)):
            try:
                for record in read_answers(path):
                    if not isinstance(record, Answer):
                        broken += 1
                        continue
                    whose = _whose(record, ids, prompts, seen, path)
                    known += whose is not None
                    strangers += whose is None
                    # As the scorer takes it: an error with a text is an answer that broke off.
                    if record.error is not None and not record.text:
                        errors += 1
                    elif whose is not None:
                        found.add(whose)
            except NoAnswersError:
                continue  # an empty file: a run that has not begun
    except ScoreError as error:
        raise NiahError(f"--only-missing: {error}") from None
    if strangers and not known:
        raise NiahError(
            f"--only-missing: none of the {strangers:,} answers is to a row of this dataset; name the dataset that was "
            "answered, or other answers"
        )
    return Answered(frozenset(found), errors, strangers, broken)


def _whose(
    answer: Answer, ids: set[str], prompts: Mapping[str, list[str]], seen: Counter[Any], path: Path
) -> str | None:
    """The row that an answer is to; None if it is to none.

    Rows that share a prompt are given, as the scorer does, the answers to it in the order in which they come.
    """
    if answer.id is not None and answer.id in ids:
        return answer.id
    for digest in (answer.prompt_sha256, answer.chat_sha256):
        if digest is not None and digest in prompts:
            rows = prompts[digest]
            nth = seen[digest, answer.sample]
            seen[digest, answer.sample] += 1
            return rows[nth % len(rows)]
    if answer.id is None and answer.prompt_sha256 is None:
        raise NiahError(
            f"--only-missing: {path}: its answers have neither ids nor prompts, so their rows cannot be told; "
            "give each the id of its row"
        )
    return None
