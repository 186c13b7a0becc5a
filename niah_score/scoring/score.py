"""Joined rows in, their statuses, scores and findings out, a chunk at a time and many chunks at once.

A status says what came back for a row (ok, missing, empty, truncated, think_unclosed, refused, error), scores say how
good it is, and a finding says how it failed; none of them drops a row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from niah_score.join.join import Joined
from niah_score.join.rows import Rows
from niah_score.metrics import METRICS, SCORE, Chunk, Target
from niah_score.scoring.extract import DENIALS, LONGEST, REASONING_TAGS, denies, meant_all, refuses
from niah_score.text import Word, as_word, find_word

if TYPE_CHECKING:
    import polars as pl

STATUSES = ("ok", "missing", "empty", "truncated", "think_unclosed", "refused", "error")
FINDINGS = ("found", "hedged", "partly", "wrong_needle", "nothing", "refused", "truncated", "no_answer")
COORDINATES = (
    "id", "task", "language", "corpus", "tokenizer", "template", "control", "length", "depth_percent", "needle_id",
    "haystack_id", "repeat", "metric",
)  # fmt: skip
# What of a joined row judging needs; the rest stays where it is.
JUDGED = ("sample", "text", "reasoning", "finish", "error", "metric", "needle_id")
_CHUNK = 16_384
# Beyond this many different needles, which other needle an answer holds is not looked for.
_MOST_NEEDLES = 512


@dataclass(frozen=True, slots=True)
class Judging:
    """How answers are judged. `metrics`: their names, each row's own is added where it differs.

    `text`: which text all metrics judge; by default compat metrics the raw answer and strict ones the extracted one.
    `missing`: what a row without an answer counts as. `others`: all needles of the dataset.
    """

    metrics: tuple[str, ...]
    text: Literal["own", "raw", "extracted"] = "own"
    missing: Literal["zero", "exclude"] = "zero"
    tags: tuple[tuple[str, str], ...] = REASONING_TAGS
    others: tuple[OtherNeedle, ...] = ()


class OtherNeedle(NamedTuple):
    """A needle of the dataset: whose, in which language, and its keyword groups folded."""

    id: str
    language: str
    groups: tuple[tuple[Word, ...], ...]


def judging_for(rows: Rows, metrics: Sequence[str], **how: Any) -> Judging:
    """The way to judge a dataset's rows: the asked metrics, and what their needles are."""
    found = rows.table.select("needle_id", "language", "target").unique("needle_id", maintain_order=True)
    found = found.with_columns(rows.targets["keywords"][found["target"]]).drop("target")
    others = tuple(
        OtherNeedle(name, language, tuple(tuple(map(as_word, group)) for group in groups))
        for name, language, groups in found.iter_rows()
        if name and groups
    )
    return Judging(tuple(metrics), others=others if len(others) <= _MOST_NEEDLES else (), **how)


def score_rows(
    rows: Rows, joined: Joined, judging: Judging, pool: Executor | None, ahead: int
) -> Iterator[pl.DataFrame]:
    """Scores of all rows in their order, a frame for each chunk; a row with several samples has a line for each.

    `ahead`: chunks that a pool is given before the first is done; they are as large as the answers.
    """
    chunks = ((chunk, *targets_of(chunk, rows.targets)) for chunk in _chunks(rows, joined))
    if pool is None:
        yield from (_whole(chunk, judge(chunk, codes, targets, judging)) for chunk, codes, targets in chunks)
        return
    waiting: deque[tuple[pl.DataFrame, Future[pl.DataFrame]]] = deque()
    for chunk, codes, targets in chunks:
        waiting.append((chunk, pool.submit(judge, chunk.select(JUDGED), codes, targets, judging)))
        if len(waiting) > ahead:
            first, future = waiting.popleft()
            yield _whole(first, future.result())
    for first, future in waiting:
        yield _whole(first, future.result())


def _whole(chunk: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """The line of a row: its coordinates, what came back for it, and how that was judged."""
    import polars as pl

    # Cutting copies every text; hardly ever is there one to cut.
    is_long = (chunk["text"].str.len_bytes().max() or 0) > LONGEST  # type: ignore[operator]
    text = pl.col("text").str.head(LONGEST) if is_long else pl.col("text")
    kept = chunk.select(
        *COORDINATES,
        pl.col("sample").fill_null(0),
        text.fill_null("").alias("prediction"),
        "reasoning",
        "error",
    )
    return pl.concat([kept, judged], how="horizontal")


def _chunks(rows: Rows, joined: Joined) -> Iterator[pl.DataFrame]:
    import polars as pl

    places = joined.answers["place"]
    columns = ["place", "sample", "text", "reasoning", "finish", "error"]
    start = 0
    for first in range(0, rows.table.height, _CHUNK):
        truth = rows.table.slice(first, _CHUNK).with_columns(
            pl.int_range(first, min(first + _CHUNK, rows.table.height), dtype=pl.Int64, eager=True).alias("place")
        )
        end = places.search_sorted(first + _CHUNK, side="left")
        answers = joined.answers.slice(start, end - start).select(columns)
        start = end
        yield truth.join(answers, on="place", how="left", maintain_order="left_right")


def judge(frame: pl.DataFrame, codes: pl.Series, targets: Sequence[Target], judging: Judging) -> pl.DataFrame:
    """Status, finding and scores of some joined rows, of which the columns JUDGED are needed.

    `codes`: which of the `targets` each row is judged against. A metric `m` gives the columns `m` and `m.<part>`; null
    is not applicable. `score` is the row's own metric's. `extracted` is null where it is the raw answer.
    """
    # Rows of one target side by side share most of the work.
    order = codes.arg_sort()
    judged = _judged(frame[order], [targets[code] for code in codes[order].to_list()], judging)
    return judged[order.arg_sort()]


def _judged(frame: pl.DataFrame, targets: list[Target], judging: Judging) -> pl.DataFrame:
    import polars as pl

    given = frame["text"].fill_null("")
    is_long = given.str.len_chars() > LONGEST
    raw = (given.str.head(LONGEST) if is_long.any() else given).to_list()
    prefixes = [target.prefix for target in targets]
    extracted, unclosed = meant_all(raw, prefixes, judging.tags)
    statuses = _statuses(frame, raw, unclosed)
    chunks = {"raw": Chunk(raw, targets), "extracted": Chunk(extracted, targets)}
    own = frame["metric"].to_list()
    columns: dict[str, pl.Series] = {}
    for name in dict.fromkeys((*judging.metrics, *sorted(set(own)))):
        if name not in METRICS:
            continue
        kind = judging.text if judging.text != "own" else "raw" if METRICS[name].kind == "compat" else "extracted"
        wanted = None if name in judging.metrics else [place for place, of in enumerate(own) if of == name]
        columns |= _scored(name, chunks[kind], wanted, statuses, judging.missing)
    columns["score"] = _own_scores(own, columns)
    findings = _findings(chunks["extracted"], statuses, frame["needle_id"].to_list(), judging)
    different = [None if text == whole else text for text, whole in zip(extracted, raw, strict=True)]
    return pl.DataFrame(
        [
            pl.Series("status", statuses, pl.String),
            pl.Series("finding", findings, pl.String),
            pl.Series("extracted", different, pl.String),
            is_long.alias("capped"),
            *(series.alias(name) for name, series in columns.items()),
        ]
    )


def targets_of(frame: pl.DataFrame, targets: pl.DataFrame) -> tuple[pl.Series, list[Target]]:
    """What rows are judged against, and which of it each row is. `targets`: as `Rows` has them."""
    import polars as pl

    kinds = ["target", "answer_prefix", "language"]
    different = frame.select(kinds).unique(maintain_order=True)
    found = [
        Target(tuple(answers), tuple(map(tuple, keywords)), tuple(needles), prefix, language)
        for (answers, keywords, needles), (_, prefix, language) in zip(
            targets[different["target"]].select("answers", "keywords", "needles").iter_rows(),
            different.iter_rows(),
            strict=True,
        )
    ]
    numbered = different.with_columns(pl.int_range(different.height, dtype=pl.UInt32, eager=True).alias("code"))
    return frame.join(numbered, on=kinds, how="left", nulls_equal=True, maintain_order="left")["code"], found


def _statuses(frame: pl.DataFrame, raw: Sequence[str], unclosed: Sequence[bool]) -> list[str]:
    import polars as pl

    blank = pl.Series("blank", [not text or text.isspace() for text in raw], pl.Boolean)
    cut, finish = pl.col("finish") == "truncated", pl.col("finish")
    thought = pl.col("blank") & cut & (pl.col("reasoning").fill_null("") != "")
    found: list[str] = (
        frame.select("sample", "finish", "error", "reasoning")
        .with_columns(blank, pl.Series("unclosed", unclosed, pl.Boolean))
        .select(
            pl.when(pl.col("sample").is_null()).then(pl.lit("missing"))
            .when(pl.col("error").is_not_null()).then(pl.lit("error"))
            .when(finish == "refused").then(pl.lit("refused"))
            .when(pl.col("unclosed") | thought).then(pl.lit("think_unclosed"))
            .when(cut).then(pl.lit("truncated"))
            .when(pl.col("blank")).then(pl.lit("empty"))
            .otherwise(pl.lit("ok")).alias("status")
        )["status"].to_list()
    )  # fmt: skip
    return found


def _scored(
    name: str, chunk: Chunk, wanted: list[int] | None, statuses: Sequence[str], missing: str
) -> dict[str, pl.Series]:
    """The columns of one metric; `wanted`: the only rows that it judges, None for all."""
    import polars as pl

    part = chunk if wanted is None else chunk.only(wanted)
    absent = [place for place, status in enumerate(statuses) if status == "missing"]
    found: dict[str, pl.Series] = {}
    for key, values in part.shared(METRICS[name].of).items():
        whole = values
        if wanted is not None:
            whole = [None] * len(statuses)
            for place, value in zip(wanted, values, strict=True):
                whole[place] = value
        if absent and (missing == "exclude" or key != SCORE):
            whole = list(whole)
            for place in absent:
                whole[place] = None
        column = f"{name}.{key}" if key else name
        kind = _part_types().get(key, pl.Float64())
        if whole.count(None) == len(whole):
            found[column] = pl.repeat(None, len(whole), dtype=kind, eager=True).alias(column)
        else:
            found[column] = pl.Series(column, whole, kind, strict=False)
    return found


def _part_types() -> dict[str, pl.DataType]:
    """The types of metrics' parts that are no numbers of points."""
    import polars as pl

    return {
        "edit_distance": pl.Int64(), "keyword_found": pl.Boolean(), "found": pl.Int64(), "groups": pl.Int64(),
        "needles": pl.List(pl.Boolean()),
    }  # fmt: skip


def _own_scores(own: Sequence[str], columns: dict[str, pl.Series]) -> pl.Series:
    """For every row the score of the metric that it is judged by; null where this release does not know it."""
    import polars as pl

    names = set(own)
    if len(names) == 1 and own[0] in columns:
        return columns[own[0]]
    values = {name: columns[name].to_list() for name in names if name in columns}
    return pl.Series("score", [values[n][k] if n in values else None for k, n in enumerate(own)], pl.Float64)


def _holds_all(text: str, groups: tuple[tuple[Word, ...], ...]) -> bool:
    for group in groups:
        for word in group:
            if word.text in text and find_word(text, word) >= 0:
                break
        else:
            return False
    return True


def _findings(
    chunk: Chunk, statuses: Sequence[str], needle_ids: Sequence[str | None], judging: Judging
) -> list[str | None]:
    """How each row ended; null where it has no keywords to look for."""
    import polars as pl

    # What most answers hold none of is told for all of them at once: of those that found everything whether they hold a
    # denial at all, of the others whether they hold any word of any needle.
    texts, hits = chunk.folded, chunk.hits
    complete = [None not in found for found in hits]
    words = sorted({word.text for other in judging.others for group in other.groups for word in group})
    right = pl.Series([text for text, is_complete in zip(texts, complete, strict=True) if is_complete], dtype=pl.String)
    wrong = pl.Series(
        [text for text, is_complete in zip(texts, complete, strict=True) if not is_complete], dtype=pl.String
    )
    denying = iter(right.str.contains(DENIALS).to_list())
    naming = iter(wrong.str.contains_any(words).to_list() if words else [False] * len(wrong))
    findings: list[str | None] = []
    for place, (is_complete, status) in enumerate(zip(complete, statuses, strict=True)):
        hint = next(denying if is_complete else naming)
        if is_complete and status == "ok" and not hint and hits[place]:
            findings.append("found")
            continue
        finding = _finding(texts[place], hits[place], status, hint)
        if finding == "nothing" and hint:
            needle, language = needle_ids[place], chunk.targets[place].language
            others = (o for o in judging.others if o.id != needle and o.language == language)
            if any(_holds_all(texts[place], other.groups) for other in others):
                finding = "wrong_needle"
        findings.append(finding)
    return findings


def _finding(text: str, hits: Sequence[str | None], status: str, denial: bool) -> str | None:
    """`denial`: whether an answer that holds everything also holds a denial, somewhere."""
    if status in ("missing", "empty", "error"):
        return "no_answer"
    if status == "refused":
        return "refused"
    if status == "think_unclosed":
        return "truncated"
    if not hits:
        return None
    found = [word for word in hits if word is not None]
    if len(found) == len(hits):
        return "hedged" if denial and denies(text, found) else "found"
    if status == "truncated":
        return "truncated"
    if found:
        return "partly"
    return "refused" if refuses(text) else "nothing"
