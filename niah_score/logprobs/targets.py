"""Reads what a dataset's rows ask for, takes it from records of log-probabilities, and joins records to rows.

A list of tokens is the prompt's, by the dataset's own tokenizer: `prompt_tokens` of them, or one more if the first is
null, which means a token before the text, such as BOS. If a record has the texts of its tokens or the places where they
begin, `per="byte"` accepts any tokenizer's: a token belongs to the target in which it begins. Tokens that are not the
dataset's end the run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import continuation_of
from niah_score.errors import ScoreError, check_choice
from niah_score.formats import expand
from niah_score.formats.data_files import opened_rows, records_of
from niah_score.formats.record import Answer, Malformed, UnreadableError
from niah_score.join.join import ON_DUPLICATE, Lines, Problem, join
from niah_score.join.reading import frames_of
from niah_score.join.rows import Rows, check_count, digest8_of, each_intact, find_files
from niah_score.logprobs.records import CONDITIONS, FORMATS, LogProbs, read_log_probs
from niah_score.text.visible import without_surrogates

# What happens to rows without all log-probabilities: the run ends; they are left out; their known tokens count.
MISSING = ("error", "exclude", "partial")
PER = ("token", "byte")
# The longest tokens of vocabularies are runs of 128 spaces or so.
_LONGEST_TOKEN = 256
# Rows to hold at once, with their prompts.
_BATCH = 64
_COLUMNS = (
    "id", "language", "corpus", "tokenizer", "control", "length", "depth_percent", "needle_id", "haystack_id",
    "answers", "answer_prefix", "prompt_sha256", "prompt_tokens", "target_span", "target_token_span", "prompt",
)  # fmt: skip


class Asked(NamedTuple):
    """How to read log-probabilities. `per`: token or byte. `tokenizer`: of records that do not name theirs."""

    per: str = "token"
    tokenizer: str | None = None
    format: str | None = None
    missing: str = "error"
    on_duplicate: str = "error"

    def check(self) -> None:
        """Raise ScoreError for an unknown word."""
        known = {"per": PER, "missing": MISSING, "on_duplicate": ON_DUPLICATE}
        for name, words in known.items():
            check_choice(name, getattr(self, name), words)
        if self.format is not None:
            check_choice("format", self.format, list(FORMATS))


# Per token of the dataset's tokenizer, with nothing missing.
USUAL = Asked()


class Target(NamedTuple):
    """A row, and its target: the text whose log-probabilities are asked for.

    `about`: the columns that its line in scores.parquet begins with, from its id to its haystack. `answer`: the first
    accepted one as it follows the prompt, None if there is none. `chars`: code points of the prompt. `start`, `end`: of
    the target in it, in code points; `first`, `last`: in tokens; `bytes`: in UTF-8; all 0 if the row has no target.
    """

    id: str
    about: dict[str, Any]
    tokenizer: str
    control: str | None
    answer: str | None
    prompt_sha256: str
    prompt_tokens: int
    chars: int
    start: int
    end: int
    first: int
    last: int
    bytes: int

    @property
    def tokens(self) -> int:
        """How many tokens are scored."""
        return self.last - self.first


class Measured(NamedTuple):
    """The log-probability of a text. `total`: nats, over the tokens that have one; `tokens`: of the text, if known.

    `missing`: how many of them have no log-probability; `bytes`: of the text.
    """

    total: float
    tokens: int | None
    missing: int
    bytes: int


class OtherTokenizerError(Exception):
    """Why a record's tokens are not the dataset's, and what to do."""


# Takes from a record what a row asks for. Raises OtherTokenizerError, UnreadableError.
Take = Callable[[LogProbs, Target, Asked], Measured]


# Rows -----------------------------------------------------------------------------------------------------------------


def read_targets(dataset: Path) -> tuple[list[Target], Rows]:
    """What the rows of a dataset ask for, sorted by id, and these rows as `join` takes them.

    Raises ScoreError or ContractError naming the file, IntegrityError for one that is damaged.
    """
    import polars as pl

    files = find_files(dataset)
    targets = sorted(each_intact(files, _targets_of), key=lambda target: target.id)
    check_count(len(targets), files, dataset)
    table = pl.DataFrame([(one.id, one.prompt_sha256) for one in targets], ["id", "prompt_sha256"], orient="row")
    digest8 = digest8_of(table["id"], files, dataset)
    return targets, Rows(table.with_row_index("order"), pl.DataFrame(), files.name, digest8, files.manifest)


def _targets_of(file: Path) -> Iterator[Target]:
    with opened_rows(file) as source:
        for where, row in records_of(source, _COLUMNS, _BATCH):
            yield _target(row, where)


def _target(row: Mapping[str, Any], where: str) -> Target:
    name, prompt, answers = row.get("id"), row.get("prompt"), row.get("answers")
    length, prompt_tokens = row.get("length") or 0, row.get("prompt_tokens") or 0
    if not isinstance(name, str) or not name:
        raise ScoreError(f"{where}: has no id; expected rows of a dataset")
    for field, number in (("length", length), ("prompt_tokens", prompt_tokens)):
        if type(number) is not int:
            raise ScoreError(f"{where}: {field} is {number!r}; expected a whole number; verify the dataset")
    text, (start, end), (first, last) = prompt if isinstance(prompt, str) else "", (0, 0), (0, 0)
    if row.get("target_span") is not None:
        (start, end), (first, last) = _ends(row["target_span"]), _ends(row.get("target_token_span"))
        if not (start < end <= len(text) and first < last <= (prompt_tokens or last)):
            what = "target_span or target_token_span is not within a text prompt"
            raise ScoreError(f"{where}: {what}; verify the dataset, and build it again")
    answer = answers[0] if isinstance(answers, list) and answers and isinstance(answers[0], str) else None
    if answer is not None and isinstance(prompt, str | list):
        answer = continuation_of(prompt, answer, row.get("answer_prefix"))[1]
    about = {
        "id": name, "language": row.get("language") or "", "corpus": row.get("corpus") or "", "length": length,
        "depth_percent": row.get("depth_percent"), "needle_id": row.get("needle_id") or name,
        "haystack_id": row.get("haystack_id") or name,
    }  # fmt: skip
    return Target(
        name, about, row.get("tokenizer") or "", row.get("control"), answer, row.get("prompt_sha256") or _digest(text),
        prompt_tokens, len(text), start, end, first, last, len(text[start:end].encode()),
    )  # fmt: skip


def _ends(span: object) -> tuple[int, int]:
    """Start and end of a span; (0, 0) for anything else."""
    start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (0, 0)
    return (start, end) if type(start) is type(end) is int and start >= 0 else (0, 0)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


# Joining --------------------------------------------------------------------------------------------------------------


def measure(
    targets: Sequence[Target], rows: Rows, files: Sequence[str | Path], asked: Asked, take: Take
) -> tuple[dict[tuple[str, str], Measured], Lines, list[Problem]]:
    """What was measured, by row id and condition; what became of the records, and what was wrong with them.

    Raises ScoreError, also for tokens that are not from the dataset's tokenizer and, unless it is said which counts,
    for two records of one row; IntegrityError if all records are of other rows.
    """
    by_id = {row.id: row for row in targets}
    by_prompt = {row.prompt_sha256: row for row in reversed(targets)}
    measured: dict[tuple[str, int], Measured] = {}

    def joinable(file: str, path: Path) -> Iterator[Answer | Malformed]:
        """The records of a file as answers to their rows, without a text: of conditions as if they were samples."""
        for record in read_log_probs(path, asked.format):
            if isinstance(record, Malformed):
                yield record
                continue
            prompt = None if record.prompt is None else _digest(record.prompt)
            row = by_id.get(record.id or "") if prompt is None else by_prompt.get(prompt)
            name, sample = row.id if row else record.id, CONDITIONS.index(record.condition)
            found = Answer(name, None, None, "", None, None if row else prompt, None, sample, record.line, None)
            try:
                if row is not None:
                    measured[file, record.line] = _taken(record, row, asked, take)
                yield found
            except UnreadableError as error:
                yield Malformed(record.line, f"row {name}: {error}")
            except OtherTokenizerError as error:
                raise ScoreError(f"{file}:{record.line}: row {name}: {error}") from None

    paths = {without_surrogates(str(path)): path for path in expand(files, "files of log-probabilities")}
    frames = (frame for file, path in paths.items() for frame in frames_of(file, joinable(file, path)))
    advice = "use --on-duplicate first or last"
    answers, lines, problems, _, _ = join(rows, frames, on_duplicate=asked.on_duplicate, advice=advice)
    if not lines.read:
        raise ScoreError(f"{', '.join(paths)}: no log-probabilities in it; did the run finish?")
    if lines.malformed == lines.read:
        raise ScoreError(f"{problems[0]}; none of {lines.read:,} records can be read")
    used = answers.select("place", "sample", "file", "line").iter_rows()
    found = {(targets[place].id, CONDITIONS[sample]): measured[file, line] for place, sample, file, line in used}
    return found, lines, problems


def _taken(record: LogProbs, row: Target, asked: Asked, take: Take) -> Measured:
    stated = record.tokenizer or asked.tokenizer
    if asked.per == "token" and stated not in (None, row.tokenizer):
        raise _foreign(row, asked, f"its tokenizer is {stated!r}, the dataset's is {row.tokenizer!r}")
    return take(record, row, asked)


# Measuring ------------------------------------------------------------------------------------------------------------


def _foreign(row: Target, asked: Asked, why: str, hint: str = "") -> OtherTokenizerError:
    """The error for tokens that are not the dataset's. `hint`: what else may be done."""
    todo = (
        "they cannot be told apart by bytes either"
        if asked.per == "byte"
        else f"build the dataset with the model's tokenizer (--tokenizer), or normalise by bytes (--per byte){hint}"
    )
    return OtherTokenizerError(f"{why}. These are not tokens of {row.tokenizer!r}, the dataset's tokenizer: {todo}")


def target_of(record: LogProbs, row: Target, asked: Asked) -> Measured:
    """The log-probability of a row's target.

    Raises OtherTokenizerError for tokens that are not the dataset's, UnreadableError for a sum over something else.
    """
    if record.condition != "full":
        raise UnreadableError(
            f"condition is {record.condition!r}, but perplexity sets have no conditions; score it with niah-score gain"
        )
    stated = record.tokenizer or asked.tokenizer
    if record.values is None:
        before = record.context or ""
        if record.text is not None and (len(before) != row.start or _digest(before + record.text) != row.prompt_sha256):
            raise UnreadableError(
                f"the sum is not over the row's target, characters {row.start:,} to {row.end:,} of its prompt; ask for "
                "loglikelihood with the text before them as context, or build windows with options.score=window"
            )
        return _of_sum(record, row, asked, row.bytes, row.tokens)
    values, more = record.values, len(record.values) - row.prompt_tokens
    places = _places(record, row) if asked.per == "byte" else None
    if places:
        # A token before the text, such as BOS, does not count.
        first = bisect_left(places, row.start) if row.start else max(0, list(places[:2]).count(0) - 1)
        return _of_values(values[first : bisect_left(places, row.end)], row.bytes)
    # One more may be a token before the text or one generated after it; the record has to say which.
    known = more == 0 or (more == 1 and values[0] is None and record.counted)
    if known and (asked.per == "token" or stated in (None, row.tokenizer)):
        return _of_values(values[more + row.first : more + row.last], row.bytes)
    why = f"it has {len(values):,} tokens for a prompt of {row.prompt_tokens:,}"
    if asked.per == "byte":
        why += ", and nothing says where each begins: add their texts as `tokens`, or their places as `text_offset`"
    elif not record.counted:
        why += ", and without usage.prompt_tokens none of them can be told from a token that was generated"
    elif values and values[0] is not None:
        why += ", and the first is not null, as that of a token before the text is"
    raise _foreign(row, asked, why)


def _places(record: LogProbs, row: Target) -> Sequence[int] | None:
    """Where tokens begin: by their texts, if these are the prompt, perhaps after a token such as BOS; or as given.

    Raises UnreadableError for places beyond the prompt, or if they end too early to cover the target.
    """
    places = record.offsets
    for texts, before in ((record.texts, []), (record.texts and record.texts[1:], [0])):
        if texts and _digest("".join(texts)) == row.prompt_sha256:
            places = [*before, 0, *accumulate(map(len, texts[:-1]))]
    if places and places[-1] >= row.chars:
        raise UnreadableError(
            f"text_offset goes to {places[-1]:,}, but the prompt has {row.chars:,} characters; expected places in "
            "characters, not in bytes"
        )
    if places and (places[-1] < row.start or row.end - places[-1] > _LONGEST_TOKEN):
        raise UnreadableError(
            f"its last token begins at character {places[-1]:,}, but the target ends at {row.end:,}; did the server "
            "cut the prompt?"
        )
    return places


def _of_values(values: Sequence[float | None], size: int) -> Measured:
    if not values:
        raise UnreadableError("none of its tokens begins in the row's target")
    known = [value for value in values if value is not None]
    return Measured(sum(known), len(values), len(values) - len(known), size)


def _of_sum(record: LogProbs, row: Target, asked: Asked, size: int, tokens: int | None) -> Measured:
    """The log-probability of a text of `size` bytes; `tokens`: how many it has, None if the record has to say that."""
    if record.bytes not in (None, size):
        raise UnreadableError(f"the sum is over {record.bytes:,} bytes, the row's target has {size:,}")
    if record.total is None:
        return Measured(0.0, tokens or record.tokens, tokens or 1, size)
    if asked.per == "byte":
        if tokens and record.text is None and record.bytes is None and record.tokens != tokens:
            what = f"add byte_count, its bytes in UTF-8 ({size:,})"
            raise UnreadableError(f"nothing says that the sum is over exactly the target: {what}")
        return Measured(record.total, record.tokens, 0, size)
    if not record.tokens and not (tokens and (record.tokenizer or asked.tokenizer)):
        why = "it says neither how many tokens its sum is over (token_count) nor which tokenizer they are from"
        same = f"; if it is the dataset's but records cannot say so, pass --tokenizer {row.tokenizer}" if tokens else ""
        raise _foreign(row, asked, why, same)
    if tokens and record.tokens not in (None, tokens):
        raise _foreign(row, asked, f"its sum is over {record.tokens:,} tokens, the row's target has {tokens:,}")
    return Measured(record.total, tokens or record.tokens, 0, size)


def answer_of(record: LogProbs, row: Target, asked: Asked) -> Measured:
    """The log-probability of a row's answer after a context.

    A plain list is the answer's alone, unless the texts of tokens show where it begins. Raises what `target_of` does.
    """
    if row.answer is None:
        raise UnreadableError("the row has no accepted answer")
    size, shown = len(row.answer.encode()), f"the row's answer {row.answer[:80]!r}; ask for it after a context"
    if record.values is None:
        if record.text not in (None, row.answer):
            raise UnreadableError(f"the sum is over a text other than {shown}")
        return _of_sum(record, row, asked, size, None)
    if record.texts is None:
        return _of_values(record.values, size)
    at, tail = len(record.texts), ""
    while at and len(tail) < len(row.answer):
        at -= 1
        tail = record.texts[at] + tail
    if tail != row.answer:
        raise UnreadableError(f"the last tokens are not {shown}")
    return _of_values(record.values[at:], size)
