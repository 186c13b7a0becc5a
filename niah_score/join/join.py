"""Joins answers to the rows that they belong to, and accounts for every line of the answer files.

Two equations always hold: dataset rows = sum over statuses, and prediction lines read = used + duplicate + unknown +
malformed. A line is what the format calls a record: a line, an array element or a table row.

Answers keep the order in which their files were named, and their order in each file. An answer takes precedence over
an error of the same row and sample, whichever comes first: the failed request was sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import IntegrityError, ResourceError, ScoreError, listed
from niah_score.formats.record import Malformed
from niah_score.join.coordinates import by_coordinates
from niah_score.join.reading import Batch, schema
from niah_score.join.rows import Rows, stacked

if TYPE_CHECKING:
    import polars as pl

ON_DUPLICATE = ("error", "first", "last")
# What scoring needs of an answer, besides the columns of its row.
OF_ANSWERS = ("place", "sample", "text", "reasoning", "finish", "error")
# The kind of problem of answers that are scored although they were given to a prompt other than their row's.
OTHER_PROMPT = "other_prompt"
# The kind of problem of whole files without answers, which may be left out.
NO_ANSWERS = "no_answers"
# Kinds of problems that are harmless, or that users have said how to count.
ACCEPTED_PROBLEMS = ("missing", "duplicate", NO_ANSWERS)
_SHOWN = 3
# Each problem takes up to 500 bytes of memory.
MOST_PROBLEMS = 1_000_000


class Problem(NamedTuple):
    """A line or row that was not used as it is.

    `kind`: duplicate, unknown or malformed (lines), other_prompt (lines that were used), no_answers (a file), missing
    (a row without a line), verdict (a judge's reply without one), unknown_metric (rows that no metric of this
    release scores), or capped (answers that are judged only in part).
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


@dataclass(frozen=True)
class Joined:
    """`answers`: a frame with the used answers, sorted by `place` (the row's index in the table) and `sample`.

    It has the columns of `reading.schema()`, except what only joining needs: ids, digests, positions, references.
    `missing`: the ids of rows without an answer.
    """

    answers: pl.DataFrame
    lines: Lines
    problems: list[Problem]
    missing: list[str]


def join(
    rows: Rows,
    names: Sequence[str],
    batches: Iterable[Batch],
    *,
    on_duplicate: str = "error",
    repeats_are_samples: bool = False,
    by_order: bool = False,
) -> Joined:
    """Join answers to their rows: by id, by the prompt that they echo, by coordinates, or (only if asked to) by order.

    `names`: of the answer files, in order. `batches`: what was read from them. `repeats_are_samples`: an id that
    appears again is another sample, not a duplicate.
    Raises ScoreError for duplicates unless `on_duplicate` says which to take, and for an order that is not allowed or
    does not fit; IntegrityError if all answers were made for other rows.
    """
    import polars as pl

    malformed: list[Problem] = []
    frames = [pl.DataFrame(schema=schema())]
    for file, answers, broken in batches:
        frames.append(answers)
        malformed += malformed_problems(broken, names[file])
        refuse_many(len(malformed), names[file])
    frame = stacked(frames)
    frames.clear()
    frame = _placed(frame, rows, names, by_order=by_order)
    lost = frame["place"].is_null()
    # Usually every answer has a row: then no copy of perhaps a million rows is made.
    known, strange = (frame.filter(~lost), frame.filter(lost)) if lost.any() else (frame, frame.clear())
    problems = [*malformed, *unknown_problems(strange, names)]
    if strange.height and not known.height:
        raise IntegrityError(made_for_others(strange, strange.height, rows, names))
    known, again = without_duplicates(known, names, rows, "samples" if repeats_are_samples else on_duplicate)
    refuse_undecided(again, on_duplicate)
    if repeats_are_samples:
        known = known.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("place").alias("sample"))
    others = other_prompts(known, rows)
    problems += [*(one.problem for one in again), *other_prompt_problems(others, names, [rows])]
    used = known.select("file", "line").unique().height
    both = used if known.height == frame.height else frame.select("file", "line").unique().height
    # A line with several samples is used if one of them is.
    unknown = strange.join(known, on=["file", "line"], how="anti").select("file", "line").unique().height
    lines = Lines(both + len(malformed), used, both - used - unknown, unknown, len(malformed))
    # Only joining needs these.
    known = known.drop(
        "id", "prompt_sha256", "chat_sha256", "in_template", "position", "reference", "coordinates", "why_lost"
    )
    return Joined(known.sort("place", "sample"), lines, problems, missing_ids(rows, known["place"]))


def missing_ids(rows: Rows, places: pl.Series) -> list[str]:
    """The ids of the rows whose places are not among those of the answers, in order."""
    answered = places.unique().to_frame("place")
    if answered.height == rows.table.height:
        return []
    return rows.placed("id").join(answered, on="place", how="anti", maintain_order="left")["id"].to_list()


def refuse_many(problems: int, name: str) -> None:
    """Raise ResourceError if more answers of a file or those before it have problems than are kept in memory."""
    if problems > MOST_PROBLEMS:
        raise ResourceError(
            f"{name}: more than {MOST_PROBLEMS:,} records so far are malformed, unknown or duplicates; leave out "
            "the files that do not belong to this dataset"
        )


def malformed_problems(records: Sequence[Malformed], name: str) -> list[Problem]:
    """A problem for each record of a file that is not an answer."""
    return [Problem("malformed", name, record.line, None, record.message) for record in records]


def _placed(frame: pl.DataFrame, rows: Rows, names: Sequence[str], *, by_order: bool) -> pl.DataFrame:
    """The frame with `place`, the index of each answer's row in the table, null if it has none.

    `why_lost`: why its coordinates fit no row.
    """
    import polars as pl

    frame = placed_by_id(frame, rows)
    if frame["place"].null_count() and may_be_placed(frame).any():
        frame = frame.with_row_index("read")
        lost = frame["place"].is_null()
        both = [frame.filter(~lost), placed_otherwise(frame.filter(lost), rows, names, by_order=by_order)]
        frame = pl.concat(both, how="vertical").sort("read").drop("read")
    return frame


def placed_by_id(frame: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """Answers with the `place` of the row that has their id, null if none has, and a null `why_lost`."""
    import polars as pl

    frame = frame.join(rows.placed("id"), on="id", how="left", maintain_order="left")
    return frame.with_columns(pl.lit(None, pl.String).alias("why_lost"))


def may_be_placed(frame: pl.DataFrame) -> pl.Series:
    """Which answers without a place may have one by something other than an id.

    They may have an id that no row has: stacks number records that were given none.
    """
    import polars as pl

    possible = pl.col("place").is_null() & (pl.col("prompt_sha256").is_not_null() | pl.col("id").is_null())
    return frame.select(possible.alias("possible"))["possible"]


def placed_otherwise(frame: pl.DataFrame, rows: Rows, names: Sequence[str], *, by_order: bool) -> pl.DataFrame:
    """Answers without a place, now with that of their row by prompt, coordinates or order.

    Raises ScoreError for an order that is not allowed or does not fit.
    """
    import polars as pl

    echoing = frame["prompt_sha256"].is_not_null()
    nameless = ~echoing & frame["id"].is_null()
    located = nameless & frame["coordinates"].is_not_null()
    nameless = nameless & ~located
    if echoing.any():
        prompts = rows.placed("order", "prompt_sha256")
        prompted = _by_prompt(frame.filter(echoing), prompts)
        may_be_ordered = by_order or prompts["prompt_sha256"].is_null().all()
        if may_be_ordered and prompted["place"].is_null().all():
            # No row has such a prompt, so the order is all that is left.
            ordered = echoing & frame["id"].is_null() & frame["position"].is_not_null()
            echoing, nameless = echoing & ~ordered, nameless | ordered
            prompted = frame.filter(echoing)
    groups = [frame.filter(~(echoing | located | nameless))]
    if echoing.any():
        groups.append(prompted)
    if located.any():
        groups.append(by_coordinates(frame.filter(located), rows, names))
    if nameless.any():
        whole = rows.whole().with_row_index("place")
        groups.append(_by_order(frame.filter(nameless), whole, names, allowed=by_order))
    return pl.concat(groups, how="vertical")


def _by_prompt(echoing: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Answers joined to rows by the prompt that they echo, as it is or as one user message.

    Rows that share a prompt take its answers in turn: the first row the first one, and so on, then all over again.
    """
    import polars as pl

    shared = pl.int_range(pl.len()).over("prompt_sha256").alias("turn"), pl.len().over("prompt_sha256").alias("rows")
    prompts = (
        table.sort("order").filter(pl.col("prompt_sha256").is_not_null()).select("prompt_sha256", "place", *shared)
    )
    prompt, chat, known = pl.col("prompt_sha256"), pl.col("chat_sha256"), prompts["prompt_sha256"].implode()
    sent = pl.when(chat.is_in(known) & ~prompt.is_in(known)).then(chat).otherwise(prompt)
    counts = prompts.filter(pl.col("turn") == 0).select("prompt_sha256", "rows")
    turn = pl.int_range(pl.len()).over("prompt_sha256", "sample") % pl.col("rows")
    return (
        echoing.drop("place").with_columns(sent.alias("prompt_sha256"))
        .join(counts, on="prompt_sha256", how="left", maintain_order="left")
        .with_columns(turn.alias("turn"))
        .join(prompts.drop("rows"), on=["prompt_sha256", "turn"], how="left", maintain_order="left")
        .select(echoing.columns)
    )  # fmt: skip


def _by_order(rest: pl.DataFrame, table: pl.DataFrame, names: Sequence[str], *, allowed: bool) -> pl.DataFrame:
    """Answers joined to rows by their place in the file: the n-th is the n-th row's, if all of them fit."""
    import polars as pl

    name = names[rest["file"][0]]
    if not allowed:
        raise ScoreError(
            f"{name}: its records have no ids and no prompts that a row has, so only their order could say which rows "
            "they answer; if they are in the dataset's order, use --by-order"
        )
    ordered = table.sort("order").select(pl.col("place").cast(pl.Int64), "answers", "keywords")
    count = rest["position"].n_unique()
    if count != ordered.height or rest["position"].max() != ordered.height - 1:
        raise ScoreError(
            f"{name}: holds {count} answers, the dataset {ordered.height} rows; to join by order, they must be equal"
        )
    indexed = ordered.with_row_index("position").with_columns(pl.col("position").cast(pl.Int64))
    joined = rest.drop("place").join(indexed, on="position", how="left", maintain_order="left")
    for record in joined.filter(pl.col("reference").is_not_null()).iter_rows(named=True):
        accepted = {*record["answers"], *(word for group in record["keywords"] for word in group)}
        if not accepted & set(record["reference"]):
            raise ScoreError(
                f"{name}:{record['line']}: its reference {record['reference'][0][:80]!r} is not the row's "
                f"{record['answers'][0][:80]!r}; the file is not in the dataset's order"
            )
    return joined.select(rest.columns)


def unknown_problems(strange: pl.DataFrame, names: Sequence[str]) -> list[Problem]:
    """A problem for each answer that belongs to no row. Raises ResourceError if there are too many."""
    if strange.height:
        refuse_many(strange.height, names[-1])
    problems = []
    for number, line, name, prompt, why in strange.select(
        "file", "line", "id", "prompt_sha256", "why_lost"
    ).iter_rows():
        what = why or "no row of the dataset has its prompt"
        if name is not None:
            what = f"no row has the id {name[:80]!r}" + (", and none has its prompt" if prompt else "")
        problems.append(Problem("unknown", names[number], line, name, what))
    return problems


def made_for_others(strange: pl.DataFrame, count: int, rows: Rows, names: Sequence[str]) -> str:
    """The message if all answers are unknown, with some ids of both sides. `count`: how many answers there are."""
    ids = [name for name in strange["id"].head(1000).to_list() if name]
    ours = sorted({name[:8] for name in rows.table["id"].head(100_000).to_list()})
    theirs = sorted({name[:8] for name in ids})
    why = strange["why_lost"].drop_nulls().head(1).to_list()
    difference = (
        f"their ids begin with {', '.join(theirs[:_SHOWN])}, those of the rows with {', '.join(ours[:_SHOWN])}"
        if theirs
        else f"of the first, {why[0]}"
        if why
        else "no row has their prompts"
    )
    ordered = strange["id"].is_null().all() and strange["position"].is_not_null().all()
    instead = ", or, if they are in its order, use --by-order" if ordered else ""
    return (
        f"{names[strange['file'][0]]}: none of {count} answers belongs to dataset {rows.name} "
        f"({rows.digest8}): {difference}; score them against the dataset they were made for{instead}"
    )


class LeftOut(NamedTuple):
    """An answer that does not count: its number in reading order, whether it is an error, and its problem."""

    nth: int
    is_error: bool
    problem: Problem


def without_duplicates(
    known: pl.DataFrame, names: Sequence[str], rows: Rows, on_duplicate: str
) -> tuple[pl.DataFrame, list[LeftOut]]:
    """One answer for each row and sample, and the others, which are left out.

    on_duplicate: one of ON_DUPLICATE, or "samples", which only leaves out errors for which there is an answer.
    """
    import polars as pl

    key = ["place", "sample"]
    if known.select(key).unique().height == known.height:
        return known, []
    # An error with a text is an answer that broke off.
    failed = pl.col("error").is_not_null() & (pl.col("text").fill_null("") == "")
    numbered = known if "nth" in known.columns else known.with_row_index("nth")
    marked = numbered.with_columns(failed.alias("failed"))
    doubled = marked.filter(pl.struct(key).is_duplicated())
    ranked = doubled.sort("failed", "nth", descending=[False, on_duplicate == "last"])
    chosen = ranked.unique(key, keep="first", maintain_order=True).select(*key, "nth", "failed", "file", "line")
    left_out = doubled.join(chosen, on="nth", how="anti", maintain_order="left")
    left_out = left_out.join(chosen, on=key, how="left", maintain_order="left", suffix="_of_chosen")
    if on_duplicate == "samples":
        left_out = left_out.filter(pl.col("failed") & ~pl.col("failed_of_chosen"))
    refuse_many(left_out.height, names[-1])
    problems = []
    for place, file, line, nth, is_error, other_file, other_line in left_out.select(
        "place", "file", "line", "nth", "failed", "file_of_chosen", "line_of_chosen"
    ).iter_rows():
        name = rows.table["id"][place]
        what = "has an error here; the answer that counts is" if is_error else "is answered again, also"
        again = Problem("duplicate", names[file], line, name, f"{name!r} {what} at {names[other_file]}:{other_line}")
        problems.append(LeftOut(nth, is_error, again))
    return marked.join(left_out, on="nth", how="anti", maintain_order="left").select(known.columns), problems


def refuse_undecided(left_out: Sequence[LeftOut], on_duplicate: str) -> None:
    """Raise ScoreError if a row is answered again and no option says which answer counts."""
    undecided = [one.problem for one in left_out if not one.is_error]
    if undecided and on_duplicate == "error":
        head = (
            f"{len(undecided)} lines answer the same row again: use --on-duplicate first or last, or, if they are "
            "samples, --samples mean, best or majority"
        )
        raise ScoreError(listed(head, undecided))


def other_prompts(known: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """The answers to a prompt other than their row's, with the id of their row as `row_id`."""
    import polars as pl

    echoing = known.filter(
        pl.col("prompt_sha256").is_not_null() & pl.col("error").is_null() & ~pl.col("in_template").fill_null(False)
    ).unique(["file", "line"], maintain_order=True)
    own = rows.table.select(pl.col("prompt_sha256").alias("own"), pl.col("id").alias("row_id"))[echoing["place"]]
    return echoing.with_columns(own).filter(
        (pl.col("prompt_sha256") != pl.col("own")) & pl.col("chat_sha256").ne_missing(pl.col("own"))
    )


def other_prompt_problems(others: pl.DataFrame, names: Sequence[str], rows: Iterable[Rows]) -> list[Problem]:
    """Problems of answers to a prompt other than their row's: how many, then each one. `rows`: all, in parts."""
    import polars as pl

    if not others.height:
        return []
    count = f"{others.height:,} answers were" if others.height > 1 else "1 answer was"
    head = (
        f"{count} given to a prompt other than the row's, perhaps cut by the stack, or a chat printed as text; scored "
        "all the same"
    )
    problems = [Problem(OTHER_PROMPT, "", None, None, head)]
    given = pl.concat([others["prompt_sha256"], others["chat_sha256"]]).implode()
    row_ids: dict[str, str] = {}
    for part in rows:
        row_ids |= part.table.filter(pl.col("prompt_sha256").is_in(given)).select("prompt_sha256", "id").iter_rows()
    columns = ("row_id", "file", "line", "prompt_sha256", "chat_sha256")
    for name, file, line, prompt, chat in others.select(columns).iter_rows():
        other = row_ids.get(prompt) or row_ids.get(chat)
        whose = "a prompt of no row of the dataset" if other is None else f"the prompt of {other!r}"
        problems.append(Problem(OTHER_PROMPT, names[file], line, name, f"the answer for {name!r} was given to {whose}"))
    return problems
