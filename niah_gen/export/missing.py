"""Finds which rows already have an answer, in the answer files of any stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import NiahError
from niah_gen.export.base import IndexedRow
from niah_score.errors import ScoreError
from niah_score.formats import Answer, expand, read_answers
from niah_score.formats.record import NoAnswersError


class Answered(NamedTuple):
    """The ids of rows with an answer, and how many records are errors, belong to no row here, or are broken."""

    ids: frozenset[str]
    errors: int
    strangers: int
    broken: int


def answered(paths: Sequence[Path], rows: Sequence[IndexedRow]) -> Answered:
    """Which rows have an answer in files, folders or patterns. An error is not an answer, unless it came with a text.

    Raises NiahError for files that cannot be read, whose answers are identified by order alone, or that answer only
    rows of other datasets.
    """
    ids = {row.id for row in rows}
    prompts: dict[str, list[str]] = {}
    for row in rows:
        prompts.setdefault(row.prompt_sha256, []).append(row.id)
    with_answer: set[str] = set()
    seen: Counter[Any] = Counter()
    errors = strangers = broken = known = 0
    try:
        for path in expand(list(paths)):
            try:
                for record in read_answers(path):
                    if not isinstance(record, Answer):
                        broken += 1
                        continue
                    row_id = _row_of(record, ids, prompts, seen, path)
                    known += row_id is not None
                    strangers += row_id is None
                    # To the scorer, too, an error with a text is an answer that broke off.
                    if record.error is not None and not record.text:
                        errors += 1
                    elif row_id is not None:
                        with_answer.add(row_id)
            except NoAnswersError:
                continue  # an empty file: the run has not started
    except ScoreError as error:
        raise NiahError(f"--only-missing: {error}") from None
    if strangers and not known:
        raise NiahError(
            f"--only-missing: none of the {strangers:,} answers belongs to a row of this dataset; name the dataset "
            "that was answered, or other answers"
        )
    return Answered(frozenset(with_answer), errors, strangers, broken)


def _row_of(
    answer: Answer, ids: set[str], prompts: Mapping[str, list[str]], seen: Counter[Any], path: Path
) -> str | None:
    """The id of the row that an answer belongs to; None if there is none.

    Like the scorer, assigns the answers to a prompt that several rows share to those rows in turn.
    """
    if answer.id is not None and answer.id in ids:
        return answer.id
    for digest in (answer.prompt_sha256, answer.chat_sha256):
        if digest is not None and digest in prompts:
            sharing = prompts[digest]
            turn = seen[digest, answer.sample]
            seen[digest, answer.sample] += 1
            return sharing[turn % len(sharing)]
    if answer.id is None and answer.prompt_sha256 is None:
        raise NiahError(
            f"--only-missing: {path}: its answers have neither ids nor prompts, so their rows are unknown; "
            "give each answer the id of its row"
        )
    return None
