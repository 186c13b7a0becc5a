"""Converts rows of any source to the columns that scoring needs, and refuses what it cannot use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.text.values import is_kind, kinds_expected

if TYPE_CHECKING:
    import polars as pl

# What scores are computed from and grouped by. Everything else in a row, above all the prompt, stays on disk.
_TEXT = (
    "task", "part", "language", "question_language", "corpus", "tokenizer", "placement", "template", "control",
    "needle_id", "haystack_id", "metric", "answer_prefix", "prompt_sha256",
)  # fmt: skip
_WHOLE = ("length", "repeat")
_LISTS = ("answers", "needles", "keyword_kinds")
# Lists of groups of spellings.
_GROUPS = ("keywords", "rejects", "decoys")
# Texts that hardly any two rows share.
OF_ONE_ROW = ("id", "prompt_sha256")


class RowsPart(NamedTuple):
    """Some rows of a file: a table without lists, and the different lists, to which its column `target` is an index."""

    table: pl.DataFrame
    targets: pl.DataFrame


def row_columns() -> dict[str, pl.DataType]:
    """The columns of rows that scoring needs."""
    import polars as pl

    text = pl.List(pl.String())
    return {
        "id": pl.String(),
        **dict.fromkeys(_TEXT, pl.String()),
        **dict.fromkeys(_WHOLE, pl.Int64()),
        "depth_percent": pl.Float64(),
        "question": pl.String(),
        **dict.fromkeys(_LISTS, text),
        **dict.fromkeys(_GROUPS, pl.List(text)),
    }


def completed(frame: pl.DataFrame, file: Path, before: int = 0) -> RowsPart:
    """Rows with every column of the schema. Raises ScoreError for what scoring cannot use.

    `before`: how many rows of the file came before these.
    """
    import polars as pl

    for name in ("id", "answers"):
        if name not in frame.columns:
            raise ScoreError(
                f"{file}: has no column {name!r}; a dataset needs id and answers (or answer), and usually keywords"
            )
    listed = (*_LISTS, *_GROUPS)
    schema = row_columns()
    try:
        # Lists are slow to sort and to send; rows of one needle share them.
        targets, target = different(frame.select(name for name in listed if name in frame.columns))
        targets = _own_copy(_as_schema(targets, listed))
        table = _as_schema(frame, [name for name in schema if name not in listed]).with_columns(target)
    except pl.exceptions.PolarsError as error:
        raise ScoreError(f"{file}: a column does not match the contract: {str(error).splitlines()[0]}") from None
    targets = targets.with_columns(
        pl.col(name).fill_null(pl.lit([], dtype=schema[name])) for name in listed if name != "answers"
    )
    _check_gaps(targets, target, file, before)
    _check_kinds(targets, target, file, before)
    answered = targets["answers"].list.drop_nulls().list.len().fill_null(0) > 0
    empty = ((table["id"].fill_null("") == "") | ~answered[target]).arg_true()
    windows = (table["metric"] == "nll").arg_true()
    if len(windows):
        raise ScoreError(
            f"{file}: row {before + windows[0] + 1} is a window that asks for log-probabilities, not for an answer; "
            "score it with niah-score perplexity"
        )
    if len(empty):
        raise ScoreError(f"{file}: row {before + empty[0] + 1}: id and answers must not be empty")
    by_keywords = (targets["keywords"].list.len() > 0)[target]
    own = pl.when(by_keywords).then(pl.lit("keyword")).otherwise(pl.lit("edit"))
    return RowsPart(
        table.with_columns(pl.col("metric").fill_null(own), pl.col("language").fill_null(pl.lit("en"))), targets
    )


def _own_copy(frame: pl.DataFrame) -> pl.DataFrame:
    """A copy that holds only its own texts; otherwise some rows of a frame keep the texts of all its rows in memory."""
    import polars as pl

    return pl.DataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=frame.schema)


def different(lists: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The different rows of a frame of lists, in order of first appearance, and for each row its index among them."""
    members = lists.with_row_index("row").group_by(lists.columns, maintain_order=True).agg("row")
    places = members.select("row").with_row_index("target").explode("row").sort("row")
    return members.drop("row"), places["target"]


def _check_gaps(targets: pl.DataFrame, target: pl.Series, file: Path, before: int) -> None:
    """Raise ScoreError if a list holds a null, or keywords or decoys hold a group without spellings."""
    import polars as pl

    null = pl.element().is_null()
    gap = null | pl.element().list.eval(null).list.any()
    empty = gap | (pl.element().list.len() == 0)
    wrong = targets.select(
        *(pl.col(name).list.eval(null).list.any() for name in ("answers", "needles")),
        *(pl.col(name).list.eval(gap if name == "rejects" else empty).list.any() for name in _GROUPS),
    )
    for name in wrong.columns:
        places = wrong[name].fill_null(False).arg_true()
        if len(places):
            row = before + (target == places[0]).arg_max() + 1
            raise ScoreError(
                f"{file}: row {row}: {name}: holds a null or an empty group, expected texts (docs/rows.md)"
            )


def _check_kinds(targets: pl.DataFrame, target: pl.Series, file: Path, before: int) -> None:
    """Raise ScoreError if there is not one of keyword_kinds or rejects per keyword group, or a kind is unknown."""
    import polars as pl

    for place, (keywords, kinds, rejects) in enumerate(
        targets.select(pl.col("keywords").list.len(), "keyword_kinds", pl.col("rejects").list.len()).iter_rows()
    ):
        wrong = next((kind for kind in kinds if not is_kind(kind or "")), None)
        if wrong is None and len(kinds) in (0, keywords) and rejects in (0, keywords):
            continue
        row = before + (target == place).arg_max() + 1  # type: ignore[operator]
        if kinds and wrong is not None:
            raise ScoreError(f"{file}: row {row}: keyword_kinds: {wrong!r} is unknown; expected {kinds_expected()}")
        name, count = ("keyword_kinds", len(kinds)) if len(kinds) not in (0, keywords) else ("rejects", rejects)
        raise ScoreError(
            f"{file}: row {row}: {name}: found {count}, expected one for each of the {keywords} keyword groups, or none"
        )


def _as_schema(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of the schema, null if the frame does not have them."""
    import polars as pl

    schema = row_columns()
    return frame.select(
        pl.col(name).cast(schema[name]) if name in frame.columns else pl.lit(None, dtype=schema[name]).alias(name)
        for name in names
    )


def from_records(records: list[dict[str, Any]], file: Path, unit: str, before: int = 0) -> RowsPart:
    """Records as a part, hand-made ones included. `before`: how many records came before these."""
    import polars as pl

    schema = row_columns()
    rows = []
    for number, record in enumerate(records, before + 1):
        where = f"{file}:{record.get('line', number)}" if unit == "line" else f"{file}: row {number}"
        answers = record.get("answers", record.get("answer"))
        row = {name: record.get(name) for name in schema}
        row["answers"] = [answers] if isinstance(answers, str) else answers
        row["id"] = str(row["id"]) if isinstance(row["id"], int) and not isinstance(row["id"], bool) else row["id"]
        row["keywords"] = _groups(record.get("keywords"))
        for name in ("id", "answers"):
            if not row[name]:
                raise ScoreError(
                    f"{where}: {name}: expected {'a text' if name == 'id' else 'a text or a list of texts'}, found none"
                )
        for name, value in row.items():
            if not _fits(name, value):
                raise ScoreError(
                    f"{where}: {name}: found {str(value)[:80]!r}, which is not what a row holds there (docs/rows.md)"
                )
        rows.append(row)
    return completed(pl.DataFrame(rows, schema=schema, orient="row"), file, before)


def _groups(keywords: object) -> object:
    """Groups of spellings; each text of a flat list is a group."""
    if isinstance(keywords, str):
        return [[keywords]]
    return (
        [[group] if isinstance(group, str) else group for group in keywords] if isinstance(keywords, list) else keywords
    )


def _fits(name: str, value: object) -> bool:
    if value is None:
        return True
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name in _GROUPS:
        return isinstance(value, list) and all(
            isinstance(group, list) and (group or name == "rejects") and all(isinstance(word, str) for word in group)
            for group in value
        )
    if name in _WHOLE:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62
    if name == "depth_percent":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str)
