"""Asks LongBench's passage tasks with the published prompts, about paragraphs of a corpus or of a published file.

Prompts, markers, answers and metrics are the published ones (Y. Bai et al., ACL 2024). How the paragraphs of a prompt
were chosen was never published; here they are drawn from the recipe's corpora. Rows have no length and no set depth.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.passages import passages_of
from niah_gen.prompts.frame import said
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.options import OwnFile, check_options, own_file
from niah_gen.tasks.published.files import field, json_lines, wrong
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench, cell_seed
from niah_score.contract import sha256_hex

_FOLDER = Path(__file__).parents[2] / "library" / "longbench"
_MAX_NEW_TOKENS = 32
# At least one in this many paragraphs of a passage_count prompt is different from all others.
_LEAST_DIFFERENT = 3


class PassageSet(NamedTuple):
    """One of LongBench's passage tasks. `marker`: what precedes a paragraph; `answer`: how answers name it."""

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

    `paragraphs`: how many a prompt has. `size`: the fewest tokens of a paragraph that is not a whole document.
    `rows`: how many rows there are; 200 as published.
    """

    paragraphs: int = 30
    size: int = 200
    rows: int = 200

    def __post_init__(self) -> None:
        check_options(self, paragraphs=range(2, 1001), size=range(20, 4001), rows=range(1, 10_001))


@dataclass(frozen=True, slots=True)
class LongBenchFileOptions:
    """The recipe's [options]. `file`: a JSONL file of LongBench, `dataset`: which one; `rows`: its first ones."""

    file: OwnFile
    dataset: str
    rows: int = 200

    def __post_init__(self) -> None:
        check_options(self, dataset=list(SETS), rows=range(1, 10_001))


@lru_cache(maxsize=1)
def prompts() -> dict[str, str]:
    """The published prompts by task name, with the fields `{context}` and `{input}`."""
    return tomllib.loads((_FOLDER / "prompts.toml").read_text("utf-8"))


class _Asked(NamedTuple):
    """What fills a prompt. `abstract`: empty for counts; `answers`: the accepted ones."""

    paragraphs: str
    abstract: str
    answers: tuple[str, ...]
    notes: tuple[str, ...] = ()


def _replayed(dataset: str, cell: Cell, asked: _Asked, bench: Workbench) -> Replayed:
    kind = SETS[dataset]
    text = asked.paragraphs
    first, last = prompts()[dataset].split("{context}")
    needles = _named_paragraph(kind, asked) if kind.metric == "longbench_retrieval" else ()
    starts = [len(first) + text.index(needle) for needle in needles]
    turn = said(None, first + text + last.replace("{input}", asked.abstract), starts, needles)
    before, _, after = text.partition(*needles) if needles else (text, "", "")
    tokens = bench.tokenizer.count(before + after)
    depths = tuple(min(100.0, 100 * bench.tokenizer.count(before) / max(1, tokens)) for _ in needles)
    item = Item(
        cell.needle, kind.language, asked.abstract or None, asked.answers, (asked.answers,), kind.metric, needles,
        max_new_tokens=_MAX_NEW_TOKENS,
    )  # fmt: skip
    haystack_id = sha256_hex((before + after).encode())[:12]
    return Replayed(item, Context((turn,), haystack_id, tokens, depths, notes=asked.notes))


def _named_paragraph(kind: PassageSet, asked: _Asked) -> tuple[str, ...]:
    """The paragraph that the first answer names, as in the prompt; none unless it occurs there exactly once."""
    number = re.search(r"\d+", asked.answers[0])
    named = tuple(text for name, text in split_paragraphs(kind, asked.paragraphs) if number and name == number[0])
    return named if len(named) == 1 and asked.paragraphs.count(named[0]) == 1 else ()


def split_paragraphs(kind: PassageSet, context: str) -> list[tuple[str, str]]:
    """The paragraphs of a context in order: the number of each, and its text with the marker."""
    before, after = map(re.escape, kind.marker.rstrip().split("{}"))
    marks = list(re.finditer(rf"(?:\A|\n){before}(\d+){after}", context))
    ends = [*(mark.start() for mark in marks[1:]), len(context)]
    # Without marks there is one end but no paragraph.
    return [(mark[1], context[mark.start() : end].strip()) for mark, end in zip(marks, ends, strict=False)]


def _of_corpus(dataset: str, bench: Workbench) -> Callable[[Cell], Replayed]:
    def replay(cell: Cell) -> Replayed:
        draw = random.Random(f"{cell_seed(bench.seed, cell)}/{dataset}")
        ask = _count if dataset == "passage_count" else _retrieval
        return _replayed(dataset, cell, ask(SETS[dataset], cell, draw, bench), bench)

    return replay


def _numbered(kind: PassageSet, texts: Sequence[str]) -> str:
    return "\n\n".join(kind.marker.format(number) + text for number, text in enumerate(texts, 1))


def _retrieval(kind: PassageSet, cell: Cell, draw: random.Random, bench: Workbench) -> _Asked:
    """Asks about the summary of a document; if the corpus has too few, about a sentence taken out of a passage."""
    corpus, count = bench.corpora[cell.corpus], bench.options.paragraphs
    summaries = sum(bool(document.summary.strip()) for document in corpus.documents)
    summarised = summaries >= count
    cut = passages_of(corpus, bench.tokenizer, 0 if summarised else bench.options.size)
    passages = [passage for passage in cut if (passage.summary if summarised else len(passage.sentences) > 2)]
    chosen = draw.sample(passages, _enough(count, len(passages), cell))
    place = draw.randrange(count)
    answers = (kind.answer.format(place + 1),)
    if summarised:
        texts = [passage.text() for passage in chosen]
        return _Asked(_numbered(kind, texts), chosen[place].summary, answers)
    texts = [passage.text(first=int(number == place)) for number, passage in enumerate(chosen)]
    note = (
        f"{cell.corpus} has {summaries} documents with a summary, fewer than {count}: a sentence taken out of the "
        "paragraph serves as its abstract"
    )
    return _Asked(_numbered(kind, texts), chosen[place].sentences[0], answers, (note,))


def _count(kind: PassageSet, cell: Cell, draw: random.Random, bench: Workbench) -> _Asked:
    count = bench.options.paragraphs
    passages = passages_of(bench.corpora[cell.corpus], bench.tokenizer, bench.options.size)
    different = draw.randint(max(1, count // _LEAST_DIFFERENT), count)
    chosen = draw.sample(passages, _enough(different, len(passages), cell))
    texts = [passage.text() for passage in (*chosen, *draw.choices(chosen, k=count - different))]
    draw.shuffle(texts)
    return _Asked(_numbered(kind, texts), "", (kind.answer.format(different),))


def _enough(wanted: int, there: int, cell: Cell) -> int:
    if there < wanted:
        raise FitError(
            f"corpus {cell.corpus!r} makes {there} paragraphs, expected {wanted}; use a larger corpus, or "
            "lower options.size or options.paragraphs"
        )
    return wanted


def _of_file(bench: Workbench) -> Callable[[Cell], Replayed]:
    options: LongBenchFileOptions = bench.options
    rows = _read(own_file(options.file), options.dataset)
    if len(rows) < options.rows:
        raise RecipeError(
            [f"options.rows: {options.rows}, but {options.file} has {len(rows)} rows; lower options.rows"]
        )

    def replay(cell: Cell) -> Replayed:
        return _replayed(options.dataset, cell, rows[int(cell.needle.removeprefix("row-")) - 1], bench)

    return replay


def _read(path: Path, dataset: str) -> list[_Asked]:
    """The rows of one of LongBench's files. Raises RecipeError with the line that is wrong."""
    rows = []
    for row, where in json_lines(path, "file"):
        answers = tuple(field(row, "answers", "a list of texts", where))
        if not answers or not all(map(str.strip, answers)):
            raise wrong(where, "answers", row["answers"], "at least one text, none blank")
        if field(row, "dataset", "a text", where, dataset) != dataset:
            raise wrong(where, "dataset", row["dataset"], repr(dataset))
        rows.append(_Asked(field(row, "context", "a text", where), field(row, "input", "a text", where, ""), answers))
    return rows


def _corpus_ids(dataset: str, settings: Settings, language: str) -> Sequence[str]:
    return (
        [f"row-{number + 1}" for number in range(settings.options.rows)] if language == SETS[dataset].language else []
    )


def _file_ids(settings: Settings, language: str) -> Sequence[str]:
    return _corpus_ids(settings.options.dataset, settings, language)


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    return (Coordinates(0, f"row-{number + 1}") for number in range(settings.options.rows))


def _of(dataset: str) -> Task:
    return Task(
        f"longbench-{dataset}", 1, partial(_corpus_ids, dataset), Replay(partial(_of_corpus, dataset)),
        LongBenchOptions, coordinates=_coordinates,
    )  # fmt: skip


PASSAGE_RETRIEVAL_EN, PASSAGE_RETRIEVAL_ZH, PASSAGE_COUNT = map(_of, SETS)
LONGBENCH_FILE = Task(
    "longbench-file", 1, _file_ids, Replay(_of_file, "longbench"), LongBenchFileOptions, coordinates=_coordinates
)
