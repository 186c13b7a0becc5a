"""Exports a dataset: chooses and orders rows, has a format write them aside, and moves the files into place."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.checks.recount import recount
from niah_gen.checks.show import COORDINATES, fits, spelled
from niah_gen.errors import IntegrityError, NiahError, suggestion
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, Row, indexed
from niah_gen.export.contexts import CONTEXT_FILES, CONTEXTS
from niah_gen.export.harnesses import HARNESSES, endpoint, task_name
from niah_gen.export.loglikelihood import LOGLIKELIHOOD
from niah_gen.export.requests import BATCHES, refuse_reserved
from niah_gen.export.verifiers import VERIFIERS, package_of
from niah_gen.recipe.recipe import parse_tokens
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Dataset, open_dataset, sha256_hex
from niah_score.formats import Answer, expand, read_answers
from niah_score.formats.record import NoAnswersError
from niah_score.machine.files import hold

EXPORTS: dict[str, ExportFormat] = {
    **BATCHES, **CONTEXTS, **HARNESSES, "verifiers": VERIFIERS, "loglikelihood": LOGLIKELIHOOD,
}  # fmt: skip
# The names of options on the command line that are not those of their fields.
_FLAGS = {"fields": "--body", "more_tokens": "--max-tokens", "task_modules": "--allow-task-module"}
# How the values of a condition are read.
_READ: Mapping[str, Callable[[str], Any]] = {"length": parse_tokens, "depth": float, "repeat": int, "every": int}
# The coordinates of which a sample should keep every value.
_AXES = ("part", "language", "length", "depth", "control")


class Exported(NamedTuple):
    """The result of an export: the full path, rows and bytes of each file, how many rows, sentences for the user."""

    files: tuple[tuple[str, int, int], ...]
    rows: int
    notices: tuple[str, ...]


def export(
    folder: Path,
    to: str,
    out: Path,
    options: ExportOptions | None = None,
    *,
    only_missing: Sequence[Path] = (),
    conditions: Sequence[str] = (),
    order: str = "as-is",
    fits: int | None = None,
    tokenizer: str | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write the rows of a dataset folder into `out` in a format of EXPORTS.

    only_missing: answer files; rows with an answer in them are left out. conditions: `NAME=VALUE` words that choose
    rows. order: a name of ORDERS. fits: tokens that a prompt and its answer may have together, counted by `tokenizer`,
    by default the dataset's own; other rows are left out. Files appear once all are written; with `overwrite` they
    replace all files of an earlier export in this format. Raises NiahError and its kinds, and what reading answers and
    writing a set of files raises (ScoreError and its kinds); ContractError if the folder is not a dataset.
    """
    options = options or ExportOptions()
    form = _format(to, options)
    if order not in ORDERS:
        raise NiahError(f"--order {order!r} is unknown{suggestion(order, ORDERS)}")
    dataset = open_dataset(folder)
    if out.resolve().is_relative_to(folder.resolve()):
        raise NiahError(f"--out {out} lies in the dataset; name a folder outside it")

    def there(at: Path) -> list[str]:
        # Other exports in this folder may have contexts in files, too.
        globs = [one for one in form.pattern.split() if options.context_file or one != CONTEXT_FILES]
        return sorted(path.relative_to(at).as_posix() for one in globs for path in at.glob(one) if path.is_file())

    with hold(out, "an export", there, overwrite=overwrite) as replace:
        every = indexed(dataset)
        rows, sentences = subset(every, conditions)
        if fits is not None and options.context_file:
            raise NiahError("--fits and --context-file: a context in a file takes no room in the prompt; leave out one")
        if fits is not None:
            rows, sentence = fitting(dataset, rows, fits, tokenizer, options)
            sentences.append(sentence)
        elif tokenizer is not None:
            raise NiahError("--tokenizer: counts what --fits allows; say how many tokens, such as --fits 131072")
        if only_missing:
            ids, sentence = answered(only_missing, every)
            rows = [row for row in rows if row["id"] not in ids]
            sentences.append(sentence)
            if not rows:
                return Exported((), 0, (*sentences, "nothing is missing, so nothing was written"))
        rows = ORDERS[order](rows)
        chosen = Chosen(dataset, rows, rows == every)
        written: dict[str, int] = {}

        def write(aside: Path) -> None:
            written.update(form.write(chosen, aside, options))
            if order == "prefix":
                percent = shared_percent(chosen.rows(("prompt_tokens",), aside))
                sentences.append(f"a prefix cache can save {percent:.0f} % of the prompt tokens in this order")

        replace(write)
    if form.advice:
        package = package_of(dataset.manifest)
        places = {
            "out": out, "name": task_name(chosen), "package": package, "dataset": folder, **endpoint(chosen, options)
        }  # fmt: skip
        sentences.append(form.advice.format(**places))
    if (doubt := form.doubt(chosen)) is not None:
        sentences.append(doubt)
    if options.context_file:
        sentences.append("contexts are in files, so the model needs tools to read them: score its answers with --tools")
    files = ((str(out / name), count, _bytes(out / name)) for name, count in written.items())
    return Exported(tuple(files), len(rows), tuple(sentences))


def _bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))


def _format(to: str, options: ExportOptions) -> ExportFormat:
    """The format with a name. Raises NiahError if there is none or the options do not fit it."""
    form = EXPORTS.get(to)
    if form is None:
        raise NiahError(f"--to {to!r} is unknown{suggestion(to, EXPORTS)}")
    for field in fields(options):
        if getattr(options, field.name) and field.name not in form.takes:
            flag = _FLAGS.get(field.name, f"--{field.name.replace('_', '-')}")
            raise NiahError(f"{flag}: {to} has no use for it; {form.what}")
    if "model" in form.takes and not (options.model or "").strip():
        raise NiahError(f"--model: {to} names the model in every request; say which one, as the service spells it")
    if options.api not in (None, "chat", "responses"):
        raise NiahError(f"--api {options.api!r}: expected chat or responses")
    refuse_reserved(form.reserved, options.fields)
    return form


def subset(rows: Sequence[Row], words: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows that meet all `NAME=VALUE[,VALUE ...]` conditions, in their order; with `every=N` every n-th of those.

    And a sentence for each axis that lost values because only every n-th row was taken. Raises NiahError for a
    condition that cannot be read, for a value that no row has, and if no row meets all conditions.
    """
    kept, step = list(rows), 1
    for word in words:
        name, _, text = word.partition("=")
        if name not in (*COORDINATES, "every"):
            raise NiahError(f"--subset {word!r}: {name!r} is unknown{suggestion(name, (*COORDINATES, 'every'))}")
        try:
            asked = [_READ.get(name, str)(value.strip()) for value in text.split(",")]
            if name == "every" and (len(asked) > 1 or asked[0] < 1):
                raise ValueError("not one number of at least 1")
        except ValueError as error:
            expected = "expected NAME=VALUE or NAME=VALUE,VALUE, such as length=8k,16k, depth=50 or every=10"
            raise NiahError(f"--subset {word!r}: {error}; {expected}") from None
        if name == "every":
            step = asked[0]
            continue
        column = COORDINATES[name]
        for value in asked:
            if not any(fits(row[column], value) for row in rows):
                raise NiahError(f"--subset {name}={spelled(value)}: no row has it; there are {_known(rows, column)}")
        kept = [row for row in kept if any(fits(row[column], value) for value in asked)]
    if not kept:
        raise NiahError(f"--subset: no row has {' and '.join(words)} at once")
    sampled = kept[::step]
    sentences = []
    for name in _AXES:
        had, has = ({row[COORDINATES[name]] for row in some} for some in (kept, sampled))
        if has != had:
            lost = f"{len(has)} of {len(had)} values of {name} ({_known(sampled, COORDINATES[name])})"
            sentences.append(f"every={step} keeps {lost}; another number may keep more")
    return sampled, sentences


def fitting(
    dataset: Dataset, rows: Sequence[Row], most: int, tokenizer: str | None, options: ExportOptions
) -> tuple[list[Row], str]:
    """The rows whose prompt, system message of `options` and answer have at most so many tokens; and a sentence.

    Raises NiahError if no row fits, TokenizerError, and IntegrityError for a dataset that cannot be counted.
    """
    if tokenizer is not None:
        tokens = {row.id: row.tokens for row in recount(dataset.folder, tokenizer, system=options.system).rows}
    elif all(row["prompt_tokens"] for row in rows):
        more = find_tokenizer(dataset.manifest.tokenizer.name).count(options.system) if options.system else 0
        tokens = {row["id"]: row["prompt_tokens"] + more for row in rows}
    else:
        raise IntegrityError(f"{dataset.folder}: rows without prompt_tokens; name a --tokenizer, or verify the dataset")
    kept = [row for row in rows if tokens[row["id"]] + options.limit(row) <= most]
    counted_by = tokenizer or dataset.manifest.tokenizer.name
    if not kept:
        least = min(tokens[row["id"]] + options.limit(row) for row in rows)
        raise NiahError(
            f"--fits {most}: no row fits; the shortest takes {least:,} tokens of {counted_by} with its answer"
        )
    ids = {row["id"] for row in kept}
    lost = Counter(row["length"] or 0 for row in rows if row["id"] not in ids)
    listed = ", ".join(f"{count:,} of length {spelled(length or None)}" for length, count in sorted(lost.items()))
    sentence = f"{len(kept):,} of {len(rows):,} rows fit {most:,} tokens of {counted_by} with their answers"
    return kept, f"{sentence}; too long: {listed}" if lost else sentence


def _known(rows: Sequence[Row], column: str) -> str:
    values = {row[column] for row in rows}
    return ", ".join(map(spelled, sorted(values, key=lambda one: (one is None, isinstance(one, str), one))))


def _prefix(rows: Sequence[Row]) -> list[Row]:
    """Rows of one haystack together, the deepest first needle first: that row holds all that the others share."""
    haystacks: dict[Any, list[Row]] = {}
    for row in rows:
        haystacks.setdefault(row["haystack_id"] or ("alone", row["id"]), []).append(row)
    return [row for group in haystacks.values() for row in sorted(group, key=_undisturbed, reverse=True)]


def _undisturbed(row: Row) -> float:
    """How much of the haystack comes before the first needle, in percent; all of it where rows share a context."""
    if row["shared_prefix"]:
        return 100.0  # its context is that of other rows, needles included
    depths = row["needle_depths"] if isinstance(row["needle_depths"], list) else []
    return min((depth for depth in depths if isinstance(depth, int | float)), default=100.0)


def _balanced(rows: Sequence[Row]) -> list[Row]:
    """World by world (or needle by needle), one of each part and language at a time, with all of its lengths.

    So that every beginning is a small dataset of the same make-up. Rows of a context stay together.
    """
    turns: dict[tuple[Any, Any], dict[str, int]] = {}
    for row in sorted(rows, key=lambda row: sha256_hex(str(row["needle_id"]).encode())):
        known = turns.setdefault((row["part"], row["language"]), {})
        known.setdefault(row["needle_id"], len(known))
    return sorted(rows, key=lambda row: turns[row["part"], row["language"]][row["needle_id"]])


ORDERS: Mapping[str, Callable[[Sequence[Row]], list[Row]]] = {
    "as-is": list,
    "prefix": _prefix,
    "balanced": _balanced,
    # By the digest of the id: neighbours have nothing in common, and the order is the same everywhere.
    "shuffled": lambda rows: sorted(rows, key=lambda row: sha256_hex(row["id"].encode())),
}


def shared_percent(rows: Iterable[Row]) -> float:
    """What part of the prompt tokens repeats the beginning of the prompt before, in percent.

    This is what a prefix cache saves that holds one prompt, in this order. A prompt's tokens are counted as equally
    long, so that no tokenizer is needed; what a chat template adds is not counted.
    """
    repeated, tokens, before = 0.0, 0, b""
    for row in rows:
        prompt, count = row["prompt"], row["prompt_tokens"] or 0
        text = (prompt if isinstance(prompt, str) else "".join(message["content"] for message in prompt)).encode()
        sizes = range(min(len(before), len(text)))
        # Prompts are long, and comparing slices is much faster than comparing bytes one by one.
        shared = bisect_left(sizes, True, key=lambda size: before[: size + 1] != text[: size + 1])
        repeated += count * shared / max(1, len(text))
        tokens += count
        before = text
    return 100 * repeated / max(1, tokens)


def answered(paths: Sequence[Path], rows: Sequence[Row]) -> tuple[set[str], str]:
    """The ids of rows with an answer in files, folders or patterns of any stack, and a sentence about what is there.

    An error is not an answer, unless it came with a text. Raises ScoreError for files that cannot be read, and
    NiahError for those whose answers are identified by order alone, or that answer only rows of other datasets.
    """
    prompts: dict[str, list[str]] = {}
    for row in rows:
        prompts.setdefault(str(row["prompt_sha256"]), []).append(row["id"])
    ids = {row["id"] for row in rows}
    with_answer: set[str] = set()
    turns: Counter[Any] = Counter()
    counts = Counter[str]()
    for path in expand(list(paths)):
        try:
            for record in read_answers(path):
                if not isinstance(record, Answer):
                    counts["broken"] += 1
                    continue
                row_id = _row_of(record, ids, prompts, turns, path)
                counts["stranger" if row_id is None else "known"] += 1
                # To the scorer, too, an error with a text is an answer that broke off.
                if record.error is not None and not record.text:
                    counts["error"] += 1
                elif row_id is not None:
                    with_answer.add(row_id)
        except NoAnswersError:
            continue  # an empty file: the run has not started
    if counts["stranger"] and not counts["known"]:
        none = f"none of the {counts['stranger']:,} answers belongs to a row of this dataset"
        raise NiahError(f"--only-missing: {none}; name the dataset that was answered, or other answers")
    return with_answer, (
        f"{len(with_answer):,} of {len(rows):,} rows have an answer; {counts['error']:,} records are errors, "
        f"{counts['stranger']:,} belong to no row here, {counts['broken']:,} are unreadable"
    )


def _row_of(
    answer: Answer, ids: set[str], prompts: Mapping[str, list[str]], turns: Counter[Any], path: Path
) -> str | None:
    """The id of the row that an answer belongs to; None if there is none.

    Like the scorer, assigns the answers to a prompt that several rows share to those rows in turn.
    """
    if answer.id is not None and answer.id in ids:
        return answer.id
    for digest in (answer.prompt_sha256, answer.chat_sha256):
        if digest is not None and (sharing := prompts.get(digest)):
            turns[digest, answer.sample] += 1
            return sharing[(turns[digest, answer.sample] - 1) % len(sharing)]
    if answer.id is None and answer.prompt_sha256 is None:
        problem = "its answers have neither ids nor prompts, so their rows are unknown"
        raise NiahError(f"--only-missing: {path}: {problem}; give each answer the id of its row")
    return None
