"""Joins answers to the rows that they belong to, accounts for every line of the answer files, and reduces samples.

Two equations always hold: dataset rows = sum over statuses, and prediction lines read = used + duplicate + unknown +
malformed. A line is what the format calls a record: a line, an array element or a table row.

Answers keep the order in which their files were named, and their order in each file. An answer takes precedence over
an error of the same row and sample, whichever comes first: the failed request was sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import IntegrityError, ResourceError, ScoreError, listed
from niah_score.join.coordinates import by_coordinates
from niah_score.join.reading import schema
from niah_score.join.rows import Rows
from niah_score.text import fold

if TYPE_CHECKING:
    import polars as pl

ON_DUPLICATE = ("error", "first", "last")
# The kind of problem of whole files without answers, which may be left out.
NO_ANSWERS = "no_answers"
# Kinds of problems that are harmless, or that users have said how to count.
ACCEPTED_PROBLEMS = ("missing", "duplicate", NO_ANSWERS)
# What scoring needs of an answer.
_GIVEN = ("sample", "text", "reasoning", "finish", "error", "prompt_tokens_read")
# Each problem takes up to 500 bytes of memory.
_MOST_PROBLEMS = 1_000_000


class Problem(NamedTuple):
    """A line or row that was not used as it is.

    `kind`: duplicate, unknown or malformed (lines), other_prompt (lines that were used), no_answers (a file), missing
    (a row without a line), verdict (a judge's reply without one), unknown_metric (rows that no metric of this
    release scores), capped (answers that are judged only in part), or prompt_shortened (rows whose prompts the server
    cut).
    """

    kind: str
    file: str
    line: int | None
    id: str | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}" if self.file else self.message


class Lines(NamedTuple):
    """What became of the lines that were read."""

    read: int
    used: int
    duplicate: int
    unknown: int
    malformed: int


class Joined(NamedTuple):
    """`answers`: a frame with the used answers, sorted by `place` (the row's index in the table) and `sample`.

    It has the columns of `reading.schema()`, except what only joining needs: ids, digests, positions, references.
    `missing`: the ids of rows without an answer. `tools`: whether one of them was given with tools.
    """

    answers: pl.DataFrame
    lines: Lines
    problems: list[Problem]
    missing: list[str]
    tools: bool


def join(
    rows: Rows,
    frames: Iterable[pl.DataFrame],
    *,
    on_duplicate: str = "error",
    repeats_are_samples: bool = False,
    by_order: bool = False,
    advice: str = "use --on-duplicate first or last, or, if they are samples, --samples mean, best or majority",
) -> Joined:
    """Join answers to their rows: by id, by the prompt that they echo, by coordinates, or (only if asked to) by order.

    `frames`: of records, as `reading` makes them. `repeats_are_samples`: an id that appears again is another sample,
    not a duplicate. `advice`: what to do if two answers are to one row.
    Raises ScoreError for duplicates unless `on_duplicate` says which to take, and for an order that is not allowed or
    does not fit; IntegrityError if all answers were made for other rows.
    """
    import polars as pl

    answers, malformed = _answers(frames)
    answers = _placed(answers, rows, by_order=by_order)
    is_lost = answers["place"].is_null()
    # Usually every answer has a row, and a copy of perhaps a million answers is saved.
    known, strange = (answers.filter(~is_lost), answers.filter(is_lost)) if is_lost.any() else (answers, answers[:0])
    if strange.height and not known.height:
        raise IntegrityError(_made_for_others(strange, rows))
    known, again = _without_duplicates(known, "samples" if repeats_are_samples else on_duplicate)
    duplicates = list(_duplicates(again, rows))
    undecided = [problem for problem, failed in zip(duplicates, again["failed"], strict=True) if not failed]
    if undecided and on_duplicate == "error":
        raise ScoreError(listed(f"{len(undecided)} lines answer the same row again: {advice}", undecided))
    if repeats_are_samples:
        known = known.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("place").alias("sample"))
    line = ["file", "line"]
    # A line with several samples is used if one of them is.
    used, read = known.select(line).n_unique(), answers.select(line).n_unique()
    unknown = strange.join(known, on=line, how="anti").select(line).n_unique()
    lines = Lines(read + len(malformed), used, read - used - unknown, unknown, len(malformed))
    problems = [*malformed, *_unknown(strange), *duplicates, *_other_prompts(known, rows)]
    tools = bool(known["tools"].any())
    # Only joining needs the others.
    known = known.select("place", *_GIVEN, *line).sort("place", "sample")
    return Joined(known, lines, problems, _missing(rows, known["place"]), tools)


def _answers(frames: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, list[Problem]]:
    """All answers, numbered in reading order by `nth`, and a problem for each malformed record."""
    import polars as pl

    held: list[pl.DataFrame] = []
    malformed: list[Problem] = []
    for frame in frames:
        if "malformed" in frame.columns:
            broken = frame.filter(pl.col("malformed").is_not_null()).select("file", "line", "malformed")
            malformed += [Problem("malformed", file, line, None, what) for file, line, what in broken.iter_rows()]
            _refuse_many(len(malformed), frame)
            frame = frame.filter(pl.col("malformed").is_null())
        held.append(frame)
    whole = pl.concat([pl.DataFrame(schema={"file": pl.String}), *held], how="diagonal", rechunk=False)
    # As literals, columns without values take no memory.
    absent = [pl.lit(None, kind).alias(name) for name, kind in schema().items() if name not in whole.columns]
    return whole.with_columns(absent).with_row_index("nth"), malformed


def _refuse_many(problems: int, records: pl.DataFrame) -> None:
    """Raise ResourceError if more records of a file or those before it have problems than are kept in memory."""
    if problems > _MOST_PROBLEMS:
        raise ResourceError(
            f"{records['file'][-1]}: more than {_MOST_PROBLEMS:,} records so far are malformed, unknown or duplicates; "
            "leave out the files that do not belong to this dataset"
        )


def _missing(rows: Rows, places: pl.Series) -> list[str]:
    """The ids of the rows whose places are not among those of the answers, in order."""
    missing = rows.placed("id").join(places.to_frame(), on="place", how="anti", maintain_order="left")
    return missing["id"].to_list()


def _placed(answers: pl.DataFrame, rows: Rows, *, by_order: bool) -> pl.DataFrame:
    """Answers with `place`, the index of each one's row in the table, null if it has none.

    `why_lost`: why its coordinates fit no row.
    """
    import polars as pl

    places = answers.select("id").join(rows.placed("id"), on="id", how="left", maintain_order="left")["place"]
    answers = answers.with_columns(places, pl.lit(None, pl.String).alias("why_lost"))
    # They may have an id that no row has: stacks number records that were given none.
    may_be = pl.col("place").is_null() & (pl.col("prompt_sha256").is_not_null() | pl.col("id").is_null())
    others = answers.filter(may_be)
    if not others.height:
        return answers
    return pl.concat([answers.filter(~may_be), *_placed_otherwise(others, rows, by_order=by_order)]).sort("nth")


def _placed_otherwise(others: pl.DataFrame, rows: Rows, *, by_order: bool) -> Iterator[pl.DataFrame]:
    """Answers without a place, now with that of their row by prompt, coordinates or order.

    Raises ScoreError for an order that is not allowed or does not fit.
    """
    import polars as pl

    no_id, echoes = pl.col("id").is_null(), pl.col("prompt_sha256").is_not_null()
    located = no_id & ~echoes & pl.col("coordinates").is_not_null()
    ordered = no_id & ~echoes & ~located
    prompts = rows.placed("order", "prompt_sha256")
    by_prompt = _by_prompt(others.filter(echoes), prompts)
    if (by_order or prompts["prompt_sha256"].is_null().all()) and by_prompt["place"].is_null().all():
        # No row has such a prompt, so the order is all that is left.
        also = no_id & echoes & pl.col("position").is_not_null()
        by_prompt, ordered = by_prompt.filter(~also), ordered | also
    yield by_prompt
    if (cells := others.filter(located)).height:
        yield by_coordinates(cells, rows)
    if (rest := others.filter(ordered)).height:
        yield _by_order(rest, rows, allowed=by_order)


def _by_prompt(echoing: pl.DataFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """Answers joined to rows by the prompt that they echo, as it is or as one user message.

    Rows that share a prompt take its answers in turn: the first row the first one, and so on, then all over again.
    """
    import polars as pl

    shared = pl.int_range(pl.len()).over("prompt_sha256").alias("turn"), pl.len().over("prompt_sha256").alias("rows")
    prompts = prompts.sort("order").filter(pl.col("prompt_sha256").is_not_null()).with_columns(shared)
    prompt, chat, known = pl.col("prompt_sha256"), pl.col("chat_sha256"), prompts["prompt_sha256"].implode()
    sent = pl.when(chat.is_in(known) & ~prompt.is_in(known)).then(chat).otherwise(prompt)
    counts = prompts.filter(pl.col("turn") == 0).select("prompt_sha256", "rows")
    turn = pl.int_range(pl.len()).over("prompt_sha256", "sample") % pl.col("rows")
    return (
        echoing.drop("place").with_columns(sent.alias("prompt_sha256"))
        .join(counts, on="prompt_sha256", how="left", maintain_order="left")
        .with_columns(turn.alias("turn"))
        .join(prompts.drop("rows", "order"), on=["prompt_sha256", "turn"], how="left", maintain_order="left")
        .select(echoing.columns)
    )  # fmt: skip


def _by_order(rest: pl.DataFrame, rows: Rows, *, allowed: bool) -> pl.DataFrame:
    """Answers joined to rows by their place in the file: the n-th is the n-th row's, if all of them fit."""
    import polars as pl

    name = rest["file"][0]
    if not allowed:
        raise ScoreError(
            f"{name}: its records have no ids and no prompts that a row has, so only their order could say which rows "
            "they answer; if they are in the dataset's order, use --by-order"
        )
    table = rows.whole().with_row_index("place").sort("order")
    count = rest["position"].n_unique()
    if count != table.height or rest["position"].max() != table.height - 1:
        raise ScoreError(
            f"{name}: holds {count} answers, the dataset {table.height} rows; to join by order, they must be equal"
        )
    own = table[rest["position"]]
    for line, reference, answers, keywords in zip(
        rest["line"], rest["reference"].to_list(), own["answers"].to_list(), own["keywords"].to_list(), strict=True
    ):
        if reference is not None and not {*answers, *(word for group in keywords for word in group)} & {*reference}:
            raise ScoreError(
                f"{name}:{line}: its reference {reference[0][:80]!r} is not the row's {answers[0][:80]!r}; the file is "
                "not in the dataset's order"
            )
    return rest.with_columns(own["place"].cast(pl.Int64))


def _unknown(strange: pl.DataFrame) -> Iterator[Problem]:
    """A problem for each answer that belongs to no row. Raises ResourceError if there are too many."""
    _refuse_many(strange.height, strange)
    columns = ("file", "line", "id", "prompt_sha256", "why_lost")
    for file, line, name, prompt, why in strange.select(columns).iter_rows():
        what = why or "no row of the dataset has its prompt"
        if name is not None:
            what = f"no row has the id {name[:80]!r}" + (", and none has its prompt" if prompt else "")
        yield Problem("unknown", file, line, name, what)


def _made_for_others(strange: pl.DataFrame, rows: Rows) -> str:
    """The message if all answers are unknown, with why the first one is and the id of a row."""
    first = next(_unknown(strange.head(1)))
    ordered = strange["id"].is_null().all() and strange["position"].is_not_null().all()
    instead = ", or, if they are in its order, use --by-order" if ordered else ""
    return (
        f"{first.file}: none of {strange.height} answers belongs to dataset {rows.name} ({rows.digest8}), whose first "
        f"row is {rows.table['id'][0]!r}: {first.message}; score them against the dataset they were made for{instead}"
    )


def _without_duplicates(known: pl.DataFrame, on_duplicate: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One answer for each row and sample, and the others, which do not count, with the place of the one that does.

    on_duplicate: one of ON_DUPLICATE, or "samples", which only leaves out errors for which there is an answer.
    """
    import polars as pl

    key = ["place", "sample"]
    # An error with a text is an answer that broke off.
    failed = pl.col("error").is_not_null() & (pl.col("text").fill_null("") == "")
    doubled = known.filter(pl.struct(key).is_duplicated()).with_columns(failed.alias("failed"))
    ranked = doubled.sort("failed", "nth", descending=[False, on_duplicate == "last"])
    chosen = ranked.unique(key, keep="first", maintain_order=True).select(*key, "nth", "failed", "file", "line")
    others = doubled.join(chosen, on="nth", how="anti", maintain_order="left")
    others = others.join(chosen, on=key, how="left", maintain_order="left", suffix="_of_chosen")
    if on_duplicate == "samples":
        others = others.filter(pl.col("failed") & ~pl.col("failed_of_chosen"))
    _refuse_many(others.height, others)
    return (known.filter(~pl.col("nth").is_in(others["nth"].implode())) if others.height else known), others


def _duplicates(others: pl.DataFrame, rows: Rows) -> Iterator[Problem]:
    """A problem for each answer to a row that has another one, which counts."""
    columns = ("place", "file", "line", "failed", "file_of_chosen", "line_of_chosen")
    for place, file, line, failed, other, other_line in others.select(columns).iter_rows():
        name = rows.table["id"][place]
        what = "has an error here; the answer that counts is" if failed else "is answered again, also"
        yield Problem("duplicate", file, line, name, f"{name!r} {what} at {other}:{other_line}")


def _other_prompts(known: pl.DataFrame, rows: Rows) -> Iterator[Problem]:
    """Problems of answers to a prompt other than their row's: how many, then each one."""
    import polars as pl

    echoing = known.filter(
        pl.col("prompt_sha256").is_not_null() & pl.col("error").is_null() & ~pl.col("in_template").fill_null(False)
    ).unique(["file", "line"], maintain_order=True)
    own = rows.table.select(pl.col("prompt_sha256").alias("own"), pl.col("id").alias("row_id"))[echoing["place"]]
    others = echoing.with_columns(own).filter(
        (pl.col("prompt_sha256") != pl.col("own")) & pl.col("chat_sha256").ne_missing(pl.col("own"))
    )
    for name, file, line in others.select("row_id", "file", "line").iter_rows():
        yield Problem("other_prompt", file, line, name, f"the answer for {name!r} was given to another prompt")


# Lines: rows and their answers, and one line for each row.

WAYS = ("mean", "best", "majority")


def lines_of(rows: Rows, answers: pl.DataFrame) -> pl.DataFrame:
    """A line for each sample of a row, and one for each row without an answer: the row's columns, then the answer's.

    `answers`: those of `Joined`. Lines are in the order of the rows; without an answer, `sample` is null. Texts are not
    copied.
    """
    import polars as pl

    numbers = answers.select("place", pl.int_range(pl.len()).alias("nth"))
    lines = rows.placed().join(numbers, on="place", how="left", maintain_order="left_right")
    table = rows.table if lines.height == rows.table.height else rows.table[lines["place"]]
    given = answers.select(_GIVEN).select(pl.all().gather(lines["nth"]))
    return pl.concat([table, given], how="horizontal")


def one_line_each(frame: pl.DataFrame, way: str, scores: Sequence[str]) -> pl.DataFrame:
    """One line for each row, in order, with the number of its `samples`.

    mean: every score is the mean over the samples that have one, the status is ok if any sample's is, and the rest is
    the first sample's. best: the sample with the highest score. majority: the first sample with the most frequent text,
    compared folded. `scores`: the columns that are scores.
    """
    import polars as pl

    count = frame.group_by("id", maintain_order=True).len("samples")
    if count.height == frame.height:
        return frame.drop("sample").with_columns(pl.lit(1, pl.Int64).alias("samples"))
    if way == "mean":
        ok = pl.when((pl.col("status") == "ok").any()).then(pl.lit("ok")).otherwise(pl.col("status").first())
        chosen = frame.group_by("id", maintain_order=True).agg(
            pl.col(name).mean() if name in scores else ok.alias(name) if name == "status" else pl.col(name).first()
            for name in frame.columns
            if name != "id"
        )
    elif way == "best":
        ranked = frame.sort("score", descending=True, nulls_last=True, maintain_order=True)
        chosen = ranked.unique("id", keep="first", maintain_order=True)
    else:
        texts = frame.select(pl.coalesce("extracted", "prediction"))["extracted"].to_list()
        folded = pl.Series("folded", [fold(text or "") for text in texts])
        votes = frame.with_columns(folded).with_columns(pl.len().over("id", "folded").alias("votes"))
        ranked = votes.sort("votes", descending=True, maintain_order=True)
        chosen = ranked.unique("id", keep="first", maintain_order=True).drop("folded", "votes")
    return count.join(chosen, on="id", how="left", maintain_order="left").select(
        *(name for name in frame.columns if name != "sample"), "samples"
    )
