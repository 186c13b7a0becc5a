"""Reads of a dataset's rows what log-probabilities are joined to: the scored text, its tokens, its bytes, its digests.

The prompts themselves are read in passing, a row group at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import MANIFEST, continuation_of
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.join.dataset_files import find_files, read_intact
from niah_score.join.rows import Rows
from niah_score.machine.refusals import is_refused
from niah_score.machine.unpacking import batch_rows, packed_group

if TYPE_CHECKING:
    pass

_GROUP = 64


class TargetRow(NamedTuple):
    """A row, and the text of it that log-probabilities are asked for.

    `place`: its index in the table. `answer`: the first accepted one as it follows the prompt, None where there is
    none. `chars`: code points of the prompt. `start`, `end`: of the target in it, in code points; `first`, `last`: in
    tokens; `target_bytes` in UTF-8; all 0 where the row has no target. `context_sha256`, `target_sha256`: of the text
    before the target, and of the target; empty where there is none.
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
    """Read a dataset's rows. `windows`: they have to have a target, as those of a perplexity set do.

    Raises ScoreError or ContractError naming the file, IntegrityError for one that is damaged.
    """
    import polars as pl

    found = find_files(dataset)
    columns = read_intact(found, _rows)
    if not columns:
        raise ScoreError(f"{dataset}: holds no rows")
    if found.manifest is not None and len(columns) != found.manifest.rows:
        raise IntegrityError(
            f"{dataset}: its files hold {len(columns)} rows, {MANIFEST} says {found.manifest.rows}; build it again"
        )
    columns.sort(key=lambda row: str(row["id"]))
    rows = [_target_row(place, row, dataset) for place, row in enumerate(columns)]
    by_id = {row.id: row for row in rows}
    if len(by_id) < len(rows):
        again = next(row.id for row, other in zip(rows[1:], rows, strict=False) if row.id == other.id)
        raise ScoreError(f"{dataset}: id {again!r} stands in two rows or more; every id names one row")
    without = sum(row.tokens == 0 for row in rows)
    if windows and without:
        raise ScoreError(
            f"{dataset}: {without:,} of {len(rows):,} rows have no target_span, so they ask for answers; score those "
            "with niah-score score, or what the context gains with niah-score gain"
        )
    table = pl.DataFrame(
        {"id": list(by_id), "prompt_sha256": [row.prompt_sha256 for row in rows], "target": [0] * len(rows)},
        schema={"id": pl.String, "prompt_sha256": pl.String, "target": pl.UInt32},
    ).with_row_index("order")
    targets = pl.DataFrame({"answers": [[""]], "keywords": [[[""]]]})
    digest8 = found.manifest.digest8 if found.manifest else _digest8(by_id)
    joinable = Rows(table, targets, found.name, digest8, found.manifest, found.parts)
    return TargetRows(by_id, {row.prompt_sha256: row for row in reversed(rows)}, joinable)


def _digest8(ids: dict[str, TargetRow]) -> str:
    return sha256("\n".join(ids).encode()).hexdigest()[:8]


_COLUMNS = (
    "id", "language", "corpus", "tokenizer", "control", "length", "depth_percent", "needle_id", "haystack_id",
    "answers", "answer_prefix", "prompt_sha256", "prompt_tokens", "target_span", "target_token_span", "prompt",
)  # fmt: skip


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """Rows of a data file with the text of their target measured instead of the prompt."""
    for row in _from_parquet(file) if file.suffix == ".parquet" else _from_json_lines(file):
        yield _measured(row, file)


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


def _from_json_lines(file: Path) -> Iterator[dict[str, Any]]:
    import orjson

    from niah_score.formats.containers.streams import opened

    with opened(file) as source:
        number = 0
        for block, _ in source.blocks():
            for line in block:
                number += 1
                if line is None or not line.strip():
                    continue
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    raise ScoreError(
                        f"{file}:{number}: no JSON object ({error}); expected a row of a dataset"
                    ) from None
                if not isinstance(row, dict):
                    raise ScoreError(f"{file}:{number}: expected a JSON object, a row of a dataset")
                yield {name: row.get(name) for name in _COLUMNS}


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
