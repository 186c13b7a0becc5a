"""Reads what log-probabilities are joined to from a dataset's rows: the scored text, its tokens, bytes and digests.

Prompts are read in small batches and not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import continuation_of
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.join.rows import Rows, check_count, doubled_id, each_intact, find_files, json_objects
from niah_score.machine.refusals import is_refused, reading
from niah_score.machine.unpacking import batch_rows, packed_group

_GROUP = 64


class TargetRow(NamedTuple):
    """A row, and its target: the text whose log-probabilities are asked for.

    `place`: its index in the table. `answer`: the first accepted one as it follows the prompt, None if there is none.
    `chars`: code points of the prompt. `start`, `end`: of the target in it, in code points; `first`, `last`: in tokens;
    `target_bytes`: in UTF-8; all 0 if the row has no target. `context_sha256`, `target_sha256`: of the text before the
    target, and of the target; empty if there is none.
    """

    place: int
    id: str
    language: str
    corpus: str
    tokenizer: str
    control: str | None
    length: int
    depth: float | None
    needle_id: str
    haystack_id: str
    answer: str | None
    prompt_sha256: str
    prompt_tokens: int
    chars: int
    start: int
    end: int
    first: int
    last: int
    target_bytes: int
    context_sha256: str
    target_sha256: str

    @property
    def tokens(self) -> int:
        """How many tokens are scored."""
        return self.last - self.first


class TargetRows(NamedTuple):
    """The rows of a dataset by id, and as the table that records are joined to."""

    by_id: dict[str, TargetRow]
    by_prompt: dict[str, TargetRow]
    joinable: Rows

    @property
    def rows(self) -> list[TargetRow]:
        """The rows in the order of their ids."""
        return sorted(self.by_id.values(), key=lambda row: row.place)


def read_targets(dataset: Path, *, windows: bool) -> TargetRows:
    """Read a dataset's rows. `windows`: each must have a target, as in a perplexity set.

    Raises ScoreError or ContractError naming the file, IntegrityError for one that is damaged.
    """
    import polars as pl

    files = find_files(dataset)
    records = list(each_intact(files, _rows))
    check_count(len(records), files.manifest, dataset)
    records.sort(key=lambda row: str(row["id"]))
    rows = [_target_row(place, row, dataset) for place, row in enumerate(records)]
    by_id = {row.id: row for row in rows}
    if len(by_id) < len(rows):
        again = dict.fromkeys(row.id for row, other in zip(rows[1:], rows, strict=False) if row.id == other.id)
        raise doubled_id(dataset, next(iter(again)), len(again))
    without = sum(row.tokens == 0 for row in rows)
    if windows and without:
        raise ScoreError(
            f"{dataset}: {without:,} of {len(rows):,} rows have no target_span, so they ask for answers; score those "
            "with niah-score score, or the gain of the context with niah-score gain"
        )
    table = pl.DataFrame(
        {"id": list(by_id), "prompt_sha256": [row.prompt_sha256 for row in rows], "target": [0] * len(rows)},
        schema={"id": pl.String, "prompt_sha256": pl.String, "target": pl.UInt32},
    ).with_row_index("order")
    targets = pl.DataFrame({"answers": [[""]], "keywords": [[[""]]]})
    digest8 = files.manifest.digest8 if files.manifest else sha256("\n".join(table["id"]).encode()).hexdigest()[:8]
    joinable = Rows(table, targets, files.name, digest8, files.manifest, files.parts)
    return TargetRows(by_id, {row.prompt_sha256: row for row in reversed(rows)}, joinable)


_COLUMNS = (
    "id", "language", "corpus", "tokenizer", "control", "length", "depth_percent", "needle_id", "haystack_id",
    "answers", "answer_prefix", "prompt_sha256", "prompt_tokens", "target_span", "target_token_span", "prompt",
)  # fmt: skip


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a data file, with measures of prompt and target in place of the prompt."""
    with reading(file):
        if file.suffix == ".parquet":
            yield from (_measured(row, file) for row in _from_parquet(file))
        else:
            for _, row in json_objects(file):
                yield _measured({name: row.get(name) for name in _COLUMNS}, file)


def _from_parquet(file: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(os.fsencode(file)), page_checksum_verification=True) as opened:
            wanted = [name for name in _COLUMNS if name in opened.schema_arrow.names]
            if (problem := packed_group(file, opened.metadata)) is not None:
                raise ResourceError(problem)
            for batch in opened.iter_batches(batch_rows(opened.metadata, _GROUP, wanted), columns=wanted):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        if is_refused(error):
            raise
        first = next(iter(str(error).splitlines()), "")
        raise IntegrityError(f"{file}: cannot be read as Parquet ({first}); build it again") from None


def _measured(row: dict[str, Any], file: Path) -> dict[str, Any]:
    prompt, span = row.pop("prompt", None), row.get("target_span")
    if not isinstance(row.get("id"), str) or not row["id"]:
        raise ScoreError(f"{file}: a row has no id; expected rows of a dataset")
    measured = {"chars": 0, "target_bytes": 0, "context_sha256": "", "target_sha256": ""}
    if span is not None:
        tokens = row.get("target_token_span")
        if not isinstance(prompt, str) or not _is_span(span) or not _is_span(tokens) or span["end"] > len(prompt):
            raise ScoreError(
                f"{file}: row {row['id']}: target_span or target_token_span is not within a text prompt; verify the "
                "dataset, and build it again"
            )
        context, target = prompt[: span["start"]].encode(), prompt[span["start"] : span["end"]].encode()
        measured = {
            "chars": len(prompt), "target_bytes": len(target), "context_sha256": sha256(context).hexdigest(),
            "target_sha256": sha256(target).hexdigest(),
        }  # fmt: skip
    answers = row.get("answers")
    answer = answers[0] if isinstance(answers, list) and answers and isinstance(answers[0], str) else None
    if answer is not None and isinstance(prompt, str | list):
        prefix = row.get("answer_prefix")
        answer = continuation_of(prompt, answer, prefix if isinstance(prefix, str) else None).text
    return {**row, **measured, "answer": answer}


def _is_span(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(type(value.get(name)) is int for name in ("start", "end"))
        and 0 <= value["start"] < value["end"]
    )


def _target_row(place: int, row: dict[str, Any], dataset: Path) -> TargetRow:
    span = row.get("target_span") or {}
    tokens = row["target_token_span"] if span else {}
    try:
        return TargetRow(
            place, row["id"], row.get("language") or "", row.get("corpus") or "", row.get("tokenizer") or "",
            row.get("control"), int(row.get("length") or 0), row.get("depth_percent"),
            row.get("needle_id") or row["id"], row.get("haystack_id") or row["id"], row["answer"],
            row.get("prompt_sha256") or "",
            int(row.get("prompt_tokens") or 0), row["chars"], span.get("start", 0), span.get("end", 0),
            tokens.get("start", 0), tokens.get("end", 0), row["target_bytes"], row["context_sha256"],
            row["target_sha256"],
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise ScoreError(f"{dataset}: row {row['id']}: {error}; verify the dataset") from None
