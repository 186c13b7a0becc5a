"""Joins answers to the rows that they belong to, and accounts for every line of the answer files.

Two equations hold whatever the files are: dataset rows = sum over statuses, and prediction lines read = used +
duplicate + unknown + malformed. Lines are what a format calls a record: a line, an array element, a table row.

Answers keep the order in which their files were named, and their places in these. An answer counts before an error of
the same row and sample, wherever they stand: the error was asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import IntegrityError, ScoreError, listed
from niah_score.formats.record import Malformed
from niah_score.join.coordinates import by_coordinates
from niah_score.join.reading import Batch, schema
from niah_score.join.rows import Rows, stacked

if TYPE_CHECKING:
    import polars as pl

ON_DUPLICATE = ("error", "first", "last")
# The kind of problem of answers that are scored, and were given to another prompt than their row's.
OTHER_PROMPT = "other_prompt"
# The kind of what was left out and may be: a whole file without answers.
NO_ANSWERS = "no_answers"
# Problems with which nothing is wrong, or of which users have said how they count.
ACCEPTED_PROBLEMS = ("missing", "duplicate", NO_ANSWERS)
_SHOWN = 3


class Problem(NamedTuple):
    """A line or row that was not used as it stands.

    `kind`: duplicate, unknown or malformed (lines), other_prompt (lines that were used), no_answers (a file), missing
    (a row without a line), verdict (a judge's reply without one), or unknown_metric (rows that no metric of this
    release scores).
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

    It has the columns of `reading.schema()` but what only joining needs: id, prompts' hashes, position, reference.
    """

    answers: pl.DataFrame
    lines: Lines
    problems: list[Problem]


def join(
    rows: Rows,
    names: Sequence[str],
    batches: Iterable[Batch],
    *,
    on_duplicate: str = "error",
    repeats_are_samples: bool = False,
    by_order: bool = False,
) -> Joined:
    """Bring answers to their rows: by id, by the prompt that they echo, by coordinates, or (only if asked to) by order.

    `names`: of the answer files, in order. `batches`: what was read of them. `repeats_are_samples`: an id that comes
    again is another sample, no duplicate.
    Raises ScoreError for duplicates unless `on_duplicate` says which to take, and for order that is not allowed or does
    not fit; IntegrityError where all answers were made for other rows.
    """
    import polars as pl

    malformed: list[Problem] = []
    frames = [pl.DataFrame(schema=schema())]
    for file, answers, broken in batches:
        frames.append(answers)
        malformed += malformed_problems(broken, names[file])
    frame = stacked(frames)
    frames.clear()
    frame = _placed(frame, rows, names, by_order=by_order)
    lost = frame["place"].is_null()
    # A copy of a million rows less where, as mostly, every answer has its row.
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
    # What only joining needs is not carried on.
    known = known.drop(
        "id", "prompt_sha256", "chat_sha256", "in_template", "position", "reference", "coordinates", "why_lost"
    )
    return Joined(known.sort("place", "sample"), lines, problems)


def malformed_problems(found: Sequence[Malformed], name: str) -> list[Problem]:
    """What is wrong with the records of a file that are no answers."""
    return [Problem("malformed", name, record.line, None, record.message) for record in found]


def _placed(frame: pl.DataFrame, rows: Rows, names: Sequence[str], *, by_order: bool) -> pl.DataFrame:
    """The frame with `place`: the index of each answer's row in the table, null for those that have none.

    `why_lost`: what coordinates lack to be a row's.
    """
    import polars as pl

    frame = placed_by_id(frame, rows)
    if frame["place"].null_count() and may_be_placed(frame).any():
        frame = frame.with_row_index("read")
        lost = frame["place"].is_null()
        found = [frame.filter(~lost), placed_otherwise(frame.filter(lost), rows, names, by_order=by_order)]
        frame = pl.concat(found, how="vertical").sort("read").drop("read")
    return frame


def placed_by_id(frame: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """Answers with the `place` of the row that has their id, null where none has; and a null `why_lost`."""
    import polars as pl

    places = rows.table.select("id").with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))
    frame = frame.join(places, on="id", how="left", maintain_order="left")
    return frame.with_columns(pl.lit(None, pl.String).alias("why_lost"))


def may_be_placed(frame: pl.DataFrame) -> pl.Series:
    """Which answers without a place have something else than an id to find their row by.

    Also those with an id that is no row's: stacks number records that were given none.
    """
    import polars as pl

    found = pl.col("place").is_null() & (pl.col("prompt_sha256").is_not_null() | pl.col("id").is_null())
    return frame.select(found.alias("found"))["found"]


def placed_otherwise(frame: pl.DataFrame, rows: Rows, names: Sequence[str], *, by_order: bool) -> pl.DataFrame:
    """Answers without a place, now with that of the row that their prompt, coordinates or order find.

    Raises ScoreError for an order that is not allowed or does not fit.
    """
    import polars as pl

    echoing = frame["prompt_sha256"].is_not_null()
    nameless = ~echoing & frame["id"].is_null()
    located = nameless & frame["coordinates"].is_not_null()
    nameless = nameless & ~located
    found = [frame.filter(~(echoing | located | nameless))]
    if echoing.any():
        table = rows.table.with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))
        found.append(_by_prompt(frame.filter(echoing), table))
    if located.any():
        found.append(by_coordinates(frame.filter(located), rows, names))
    if nameless.any():
        whole = rows.whole().with_row_index("place")
        found.append(_by_order(frame.filter(nameless), whole, names, allowed=by_order))
    return pl.concat(found, how="vertical")


def _by_prompt(echoing: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Answers that the prompt which they echo brings to their rows, as it stands or as one message of the user.

    Rows may share a prompt: then the first answer to it is the first row's, and so on, and around again.
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
    """Answers that only their place in the file identifies: the n-th is the n-th row's, if all fits."""
    import polars as pl

    name = names[rest["file"][0]]
    if not allowed:
        raise ScoreError(
            f"{name}: its records have no ids and no prompts, so only their order could say which rows they answer; "
            "if they are in the dataset's order, say --by-order"
        )
    ordered = table.sort("order").select(pl.col("place").cast(pl.Int64), "answers", "keywords")
    count = rest["position"].n_unique()
    if count != ordered.height or rest["position"].max() != ordered.height - 1:
        raise ScoreError(
            f"{name}: holds {count} answers, the dataset {ordered.height} rows; by order, they must be as many"
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
    """A problem for each answer that is no row's."""
    found = []
    for number, line, name, prompt, why in strange.select(
        "file", "line", "id", "prompt_sha256", "why_lost"
    ).iter_rows():
        what = why or "its prompt is that of no row of the dataset"
        if name is not None:
            what = f"no row has the id {name[:80]!r}" + (", and its prompt is that of no row" if prompt else "")
        found.append(Problem("unknown", names[number], line, name, what))
    return found


def made_for_others(strange: pl.DataFrame, count: int, rows: Rows, names: Sequence[str]) -> str:
    """All answers are unknown: whose they are, and whose rows these are. Of both, some are enough; `count`: of all."""
    ids = [name for name in strange["id"].head(1000).to_list() if name]
    ours = sorted({name[:8] for name in rows.table["id"].head(100_000).to_list()})
    theirs = sorted({name[:8] for name in ids})
    why = strange["why_lost"].drop_nulls().head(1).to_list()
    told = (
        f"their ids begin with {', '.join(theirs[:_SHOWN])}, those of the rows with {', '.join(ours[:_SHOWN])}"
        if theirs
        else f"of the first, {why[0]}"
        if why
        else "their prompts are those of no row"
    )
    return (
        f"{names[strange['file'][0]]}: none of {count} answers belongs to dataset {rows.name} "
        f"({rows.digest8}): {told}; score them against the dataset they were made for"
    )


class LeftOut(NamedTuple):
    """An answer that does not count: the number that it was read at, whether it is an error, what is said of it."""

    nth: int
    is_error: bool
    problem: Problem


def without_duplicates(
    known: pl.DataFrame, names: Sequence[str], rows: Rows, on_duplicate: str
) -> tuple[pl.DataFrame, list[LeftOut]]:
    """One answer for each row and sample, and those that are left out for it.

    on_duplicate: one of ON_DUPLICATE, or "samples", which only leaves out errors that there is an answer for.
    """
    import polars as pl

    key = ["place", "sample"]
    if known.select(key).unique().height == known.height:
        return known, []
    # An error with a text is an answer: what came before it broke off.
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
    found = []
    for place, file, line, nth, is_error, other_file, other_line in left_out.select(
        "place", "file", "line", "nth", "failed", "file_of_chosen", "line_of_chosen"
    ).iter_rows():
        name = rows.table["id"][place]
        what = "has an error here, and counts as it is" if is_error else "is answered again, also"
        again = Problem("duplicate", names[file], line, name, f"{name!r} {what} at {names[other_file]}:{other_line}")
        found.append(LeftOut(nth, is_error, again))
    return marked.join(left_out, on="nth", how="anti", maintain_order="left").select(known.columns), found


def refuse_undecided(left_out: Sequence[LeftOut], on_duplicate: str) -> None:
    """Raise ScoreError where a row is answered again and nobody said which answer counts."""
    undecided = [one.problem for one in left_out if not one.is_error]
    if undecided and on_duplicate == "error":
        head = (
            f"{len(undecided)} lines answer a row again: say --on-duplicate first or last, or, if they are samples, "
            "--samples mean, best or majority"
        )
        raise ScoreError(listed(head, undecided))


def other_prompts(known: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """The answers to another prompt than that of their row, with the id of that row as `row_id`."""
    import polars as pl

    echoing = known.filter(
        pl.col("prompt_sha256").is_not_null() & pl.col("error").is_null() & ~pl.col("in_template").fill_null(False)
    ).unique(["file", "line"], maintain_order=True)
    own = rows.table.select(pl.col("prompt_sha256").alias("own"), pl.col("id").alias("row_id"))[echoing["place"]]
    return echoing.with_columns(own).filter(
        (pl.col("prompt_sha256") != pl.col("own")) & pl.col("chat_sha256").ne_missing(pl.col("own"))
    )


def other_prompt_problems(others: pl.DataFrame, names: Sequence[str], rows: Iterable[Rows]) -> list[Problem]:
    """Answers to another prompt than that of their row: how many, then each of them. `rows`: all, in parts."""
    import polars as pl

    if not others.height:
        return []
    count = f"{others.height:,} answers were" if others.height > 1 else "1 answer was"
    head = (
        f"{count} given to another prompt than that of the row, perhaps cut by the stack, or a chat printed as a text; "
        "scored all the same"
    )
    problems = [Problem(OTHER_PROMPT, "", None, None, head)]
    given = pl.concat([others["prompt_sha256"], others["chat_sha256"]]).implode()
    whose: dict[str, str] = {}
    for part in rows:
        whose |= part.table.filter(pl.col("prompt_sha256").is_in(given)).select("prompt_sha256", "id").iter_rows()
    columns = ("row_id", "file", "line", "prompt_sha256", "chat_sha256")
    for name, file, line, prompt, chat in others.select(columns).iter_rows():
        other = whose.get(prompt) or whose.get(chat)
        what = "one of no row of the dataset" if other is None else f"that of {other!r}"
        told = f"the prompt that {name!r} was answered to is {what}"
        problems.append(Problem(OTHER_PROMPT, names[file], line, name, told))
    return problems
