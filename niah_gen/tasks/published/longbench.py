"""Asks LongBench's passage tasks in their own words: of paragraphs of a corpus, or of their own files.

Prompts, markers, answers and metrics are the published ones (Y. Bai et al., ACL 2024). How the paragraphs of a prompt
were chosen was never published; here they are drawn from the recipe's corpora. Rows have no length and no asked depth.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.passages import passage_source, passages_of
from niah_gen.haystacks.proof import shown
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import Task, replayed
from niah_gen.tasks.own_files import OwnFile, own_file
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench, cell_seed
from niah_score.contract import Row, sha256_hex

_FOLDER = Path(__file__).parents[2] / "library" / "longbench"
_BETWEEN = "\n\n"
_MAX_NEW_TOKENS = 32
# Of the paragraphs of a prompt of passage_count, at least one in so many is different.
_LEAST_DIFFERENT = 3


class PassageSet(NamedTuple):
    """One of LongBench's passage tasks. `marker`: what stands before a paragraph, and `answer` what names it."""

    language: str
    metric: str
    marker: str
    answer: str


SETS = {
    "passage_retrieval_en": PassageSet("en", "longbench_retrieval", "Paragraph {}: ", "Paragraph {}"),
    "passage_retrieval_zh": PassageSet("zh", "longbench_retrieval", "段落{}：", "段落{}"),
    "passage_count": PassageSet("en", "longbench_count", "Paragraph {}: ", "{}"),
}


@dataclass(frozen=True, slots=True)
class LongBenchOptions:
    """The recipe's [options].

    `paragraphs`: how many a prompt has. `size`: tokens of a paragraph, at least, where it is no whole document.
    `rows`: how many rows there are, 200 as published.
    """

    paragraphs: int = 30
    size: int = 200
    rows: int = 200

    def __post_init__(self) -> None:
        if not 2 <= self.paragraphs <= 1000:
            raise ValueError(f"paragraphs is {self.paragraphs}; expected 2 to 1000")
        if not 20 <= self.size <= 4000:
            raise ValueError(f"size is {self.size}; expected 20 to 4000 tokens")
        if not 1 <= self.rows <= 10_000:
            raise ValueError(f"rows is {self.rows}; expected 1 to 10000")


@dataclass(frozen=True, slots=True)
class LongBenchFileOptions:
    """The recipe's [options]. `file`: a JSONL file of LongBench. `dataset`: which one. `rows`: so many of its first."""

    file: OwnFile
    dataset: str
    rows: int = 200

    def __post_init__(self) -> None:
        if self.dataset not in SETS:
            raise ValueError(f"dataset is {self.dataset!r}; expected one of {', '.join(SETS)}")
        if not 1 <= self.rows <= 10_000:
            raise ValueError(f"rows is {self.rows}; expected 1 to 10000")


@lru_cache(maxsize=1)
def prompts() -> dict[str, str]:
    """The published prompts by the name of the task, with `{context}` and `{input}` in them."""
    return tomllib.loads((_FOLDER / "prompts.toml").read_text("utf-8"))


def _ids(count: int) -> list[str]:
    return [f"row-{number}" for number in range(1, count + 1)]


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    for name in _ids(settings.options.rows):
        yield Coordinates(0, name)


class _Filling(NamedTuple):
    """What a prompt is filled with: `given` is the abstract, empty for counts; `answers` are the accepted ones."""

    paragraphs: str
    given: str
    answers: tuple[str, ...]
    notes: tuple[str, ...] = ()


def _replayed(dataset: str, cell: Cell, asked: _Filling, bench: Workbench) -> Replayed:
    kind = SETS[dataset]
    needle = _named_paragraph(kind, asked) if kind.metric == "longbench_retrieval" else None
    first, last = prompts()[dataset].split("{context}")
    around = (first, last.replace("{input}", asked.given))
    haystack = asked.paragraphs
    depths: tuple[float, ...] = ()
    pieces = [Piece(asked.paragraphs)]
    if needle is not None:
        before, _, after = asked.paragraphs.partition(needle)
        pieces = [Piece(before), Piece(needle, 0), Piece(after)]
        haystack = before + after
        depths = (100 * bench.tokenizer.count(before) / max(1, bench.tokenizer.count(haystack)),)
    tokens = bench.tokenizer.count(haystack)
    pieces = [piece for piece in (Piece(around[0]), *pieces, Piece(around[1])) if piece.content]
    item = Item(
        cell.needle, kind.language, asked.given or None, asked.answers, (asked.answers,), kind.metric,
        () if needle is None else (needle,), max_new_tokens=_MAX_NEW_TOKENS,
    )  # fmt: skip
    context = Context(
        (PromptMessage(None, tuple(pieces)),), sha256_hex(haystack.encode())[:12], tokens,
        tuple(min(100.0, depth) for depth in depths), notes=asked.notes,
    )  # fmt: skip
    return Replayed(item, context)


def _named_paragraph(kind: PassageSet, asked: _Filling) -> str | None:
    """The paragraph that the first answer names, as it stands in the prompt; None where it stands there not once."""
    number = re.search(r"\d+", asked.answers[0])
    found = [text for name, text in split_paragraphs(kind, asked.paragraphs) if number and name == number[0]]
    return found[0] if len(found) == 1 and asked.paragraphs.count(found[0]) == 1 else None


def split_paragraphs(kind: PassageSet, context: str) -> list[tuple[str, str]]:
    """The paragraphs of a context in their order: the number of each, and its text with the marker before it."""
    before, after = map(re.escape, kind.marker.rstrip().split("{}"))
    marks = list(re.finditer(rf"(?:\A|\n){before}(\d+){after}", context))
    ends = [*(mark.start() for mark in marks[1:]), len(context)]
    # A context without marks has one end and no paragraph.
    return [(mark[1], context[mark.start() : end].strip()) for mark, end in zip(marks, ends, strict=False)]


def _of_corpus(dataset: str, bench: Workbench) -> Callable[[Cell], Replayed]:
    def replay(cell: Cell) -> Replayed:
        draw = random.Random(f"{cell_seed(bench.seed, cell)}/{dataset}")
        make = _count if dataset == "passage_count" else _retrieval
        return _replayed(dataset, cell, make(SETS[dataset], cell, draw, bench), bench)

    return replay


def _numbered(kind: PassageSet, texts: Sequence[str]) -> str:
    return _BETWEEN.join(kind.marker.format(number) + text for number, text in enumerate(texts, 1))


def _retrieval(kind: PassageSet, cell: Cell, draw: random.Random, bench: Workbench) -> _Filling:
    """Documents with summaries where the corpus has enough of them; else passages that lend their first sentence."""
    corpus, count = bench.corpora[cell.corpus], bench.options.paragraphs
    summaries = sum(bool(document.summary.strip()) for document in corpus.documents)
    if summaries >= count:
        found = [
            passage for passage in passages_of(passage_source(corpus, bench.tokenizer, 0)) if passage.summary
        ]  # fmt: skip
        chosen = draw.sample(found, _enough(count, len(found), cell))
        place = draw.randrange(count)
        texts = [passage.text() for passage in chosen]
        given = chosen[place].summary
        notes: tuple[str, ...] = ()
    else:
        found = [
            passage
            for passage in passages_of(passage_source(corpus, bench.tokenizer, bench.options.size))
            if len(passage.sentences) > 2
        ]
        chosen = draw.sample(found, _enough(count, len(found), cell))
        place = draw.randrange(count)
        texts = [passage.text(first=int(number == place)) for number, passage in enumerate(chosen)]
        given = chosen[place].sentences[0]
        notes = (
            f"{cell.corpus} has {summaries} documents with a summary, fewer than {count}: a sentence taken out of the "
            "paragraph stands for its abstract",
        )
    return _Filling(_numbered(kind, texts), given, (kind.answer.format(place + 1),), notes)


def _count(kind: PassageSet, cell: Cell, draw: random.Random, bench: Workbench) -> _Filling:
    count = bench.options.paragraphs
    found = passages_of(passage_source(bench.corpora[cell.corpus], bench.tokenizer, bench.options.size))
    different = draw.randint(max(1, count // _LEAST_DIFFERENT), count)
    chosen = draw.sample(found, _enough(different, len(found), cell))
    texts = [passage.text() for passage in (*chosen, *draw.choices(chosen, k=count - different))]
    draw.shuffle(texts)
    return _Filling(_numbered(kind, texts), "", (kind.answer.format(different),))


def _enough(wanted: int, there: int, cell: Cell) -> int:
    if there < wanted:
        raise FitError(
            f"corpus {cell.corpus!r} makes {there} paragraphs, expected {wanted}; use a larger corpus, or set "
            "options.size or options.paragraphs lower"
        )
    return wanted


def _of_file(bench: Workbench) -> Callable[[Cell], Replayed]:
    options = bench.options
    rows = _read(own_file(options.file), options.dataset)
    if len(rows) < options.rows:
        raise RecipeError([f"options.rows: {options.rows}, but {options.file} has {len(rows)} rows; set options.rows"])

    def replay(cell: Cell) -> Replayed:
        return _replayed(options.dataset, cell, rows[int(cell.needle.removeprefix("row-")) - 1], bench)

    return replay


def _read(path: Path, dataset: str) -> list[_Filling]:
    """The rows of one of LongBench's files. Raises RecipeError with the line that is none of them."""
    found = []
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError([f"options.file: {path} cannot be read ({error}); expected JSONL in UTF-8"]) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
            json.dumps(row, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        except (ValueError, RecursionError) as error:
            raise RecipeError([f"options.file: {path}:{number}: not a JSON object ({error})"]) from None
        if not _is_row(row):
            raise RecipeError(
                [f"options.file: {path}:{number}: expected input and context as texts and answers as a list of texts"]
            )
        if row.get("dataset", dataset) != dataset:
            raise RecipeError([f"options.file: {path}:{number}: dataset is {row['dataset']!r}, expected {dataset!r}"])
        found.append(_Filling(row["context"], row["input"], tuple(row["answers"])))
    return found


def _is_row(row: Any) -> bool:
    """Whether a line of a file is a row with an abstract or nothing, paragraphs, and answers."""
    if not isinstance(row, dict) or not isinstance(row.get("answers"), list) or not row["answers"]:
        return False
    texts = [row.get("input"), row.get("context"), *row["answers"]]
    return all(isinstance(text, str) for text in texts) and all(answer.strip() for answer in row["answers"])


def _check(dataset: str, row: Row, item: Item) -> Iterator[str]:
    """What a row over paragraphs of a corpus says that its prompt does not."""
    kind = SETS[dataset]
    context = yield from _context(dataset, row)
    if context is None:
        return
    found = split_paragraphs(kind, context)
    if [name for name, _ in found] != [str(number) for number in range(1, len(found) + 1)]:
        yield "the paragraphs are not numbered from 1 on"
        return
    texts = [text.partition(kind.marker.format(name).rstrip())[2].strip() for name, text in found]
    if kind.metric == "longbench_count":
        if row["answers"] != [str(len(set(texts)))]:
            yield f"{len(set(texts))} paragraphs are different, expected {shown(row['answers'])}"
        return
    asked = [text for name, text in found if row["answers"] == [kind.answer.format(name)]]
    if asked != row["needles"]:
        yield f"the paragraph that answers name is {shown(asked)}, expected that of needles"
    if len(set(texts)) != len(texts):
        yield "two paragraphs say the same"


def _context(dataset: str, row: Row) -> Generator[str, None, str | None]:
    """Whether a prompt is the published one; returns the paragraphs in it, None where it is not."""
    prompt = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"]
    first, last = prompts()[dataset].replace("{input}", row["question"] or "").split("{context}")
    if not prompt.startswith(first) or not prompt.endswith(last) or len(prompt) < len(first) + len(last):
        yield f"the prompt is not that of LongBench's {dataset}"
        return None
    return prompt[len(first) : len(prompt) - len(last)]


def _check_file(row: Row, item: Item) -> Iterator[str]:
    """What of a row of their own file is not as published: whose it is, its metric tells."""
    names = [name for name, kind in SETS.items() if (kind.metric, kind.language) == (row["metric"], row["language"])]
    if not names:
        yield f"metric is {row['metric']!r}; no set of LongBench in {row['language']} has it"
        return
    yield from _context(names[0], row)


def _corpus_ids(dataset: str, settings: Settings, language: str) -> Sequence[str]:
    return _ids(settings.options.rows) if language == SETS[dataset].language else []


def _file_ids(settings: Settings, language: str) -> Sequence[str]:
    return _corpus_ids(settings.options.dataset, settings, language)


def _of(dataset: str) -> Task:
    return Task(
        f"longbench-{dataset}", 1, partial(_corpus_ids, dataset), replayed, LongBenchOptions,
        check=partial(_check, dataset), coordinates=_coordinates, replay=partial(_of_corpus, dataset),
    )  # fmt: skip


PASSAGE_RETRIEVAL_EN, PASSAGE_RETRIEVAL_ZH, PASSAGE_COUNT = (
    _of("passage_retrieval_en"), _of("passage_retrieval_zh"), _of("passage_count"),
)  # fmt: skip
LONGBENCH_FILE = Task(
    "longbench-file", 1, _file_ids, replayed, LongBenchFileOptions, corpus="longbench", check=_check_file,
    coordinates=_coordinates, replay=_of_file,
)  # fmt: skip
