"""Measures what readers notice in a whole corpus: how its documents open and end, their lengths, their punctuation.

make measure            the bundled corpora beside the real ones, as in docs/corpora.md

A unit is a word of English or a character of Chinese, as in quality.py. A corpus with a single voice shows here: most
of its documents open in the first person, end with a short sentence, and are about equally long.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from quality import sentence_lengths, units

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.haystacks.boundaries import sentence_ends

DOMAINS = ("finance", "game", "general", "government", "movie", "tech")
# A closing sentence with at most this many units is short.
SHORT_END = {"en": 8, "zh": 12}
_FIRST_PERSON = {"en": re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|[Mm]e|[Uu]s)\b"), "zh": re.compile("我|咱|笔者|本人")}
_QUESTIONS = {"en": "?", "zh": "？"}
_SEMICOLONS = {"en": ";", "zh": "；"}
_DASHES = {"en": re.compile(r"\w - \w|\w-- ?\w|—"), "zh": re.compile("——")}


class Style(NamedTuple):
    """One corpus. `lengths`: units of its documents, the 10th, 50th and 90th percentiles. Shares are in percent.

    `first_person`: of documents with I or we in the first sentence; `short_ends`: of those with a short last sentence;
    `questions`: of sentences. `semicolons`, `dashes`: per 1,000 units. `paragraphs`: median units of a paragraph.
    """

    documents: int
    lengths: tuple[float, float, float]
    first_person: float
    short_ends: float
    questions: float
    semicolons: float
    dashes: float
    paragraphs: float


def sentences(text: str) -> list[str]:
    """The sentences of a text that contain letters or digits, split as the generator does."""
    cuts = [0, *sentence_ends(text), len(text)]
    parts = [text[start:end].strip() for start, end in pairwise(cuts)]
    return [sentence for sentence in parts if any(map(str.isalnum, sentence))]


def style(texts: Sequence[str], language: str) -> Style:
    """The style of some documents; needs at least two."""
    each = [sentences(text) for text in texts]
    lengths = [len(units(text, language)) for text in texts]
    tenths = statistics.quantiles(lengths, n=10)
    total = sum(lengths)
    every = [sentence for document in each for sentence in document]
    last = [sum(sentence_lengths([document[-1]], language)) for document in each]
    paragraphs = [len(units(part, language)) for text in texts for part in text.split("\n") if part.strip()]

    def share(of: Sequence[object], holds: Callable[[int], object]) -> float:
        return 100 * sum(bool(holds(place)) for place in range(len(of))) / len(of)

    return Style(
        documents=len(texts),
        lengths=(tenths[0], tenths[4], tenths[8]),
        first_person=share(each, lambda place: _FIRST_PERSON[language].search(each[place][0])),
        short_ends=share(last, lambda place: last[place] <= SHORT_END[language]),
        questions=share(every, lambda place: _QUESTIONS[language] in every[place][-3:]),
        semicolons=1000 * sum(text.count(_SEMICOLONS[language]) for text in texts) / total,
        dashes=1000 * sum(len(_DASHES[language].findall(text)) for text in texts) / total,
        paragraphs=statistics.median(paragraphs),
    )


def _row(name: str, measured: Style) -> str:
    lengths = " / ".join(f"{value:,.0f}" for value in measured.lengths)
    return (
        f"| {name} | {measured.documents} | {lengths} | {measured.first_person:.0f} % | {measured.short_ends:.0f} % | "
        f"{measured.questions:.1f} % | {measured.semicolons:.2f} | {measured.dashes:.2f} | {measured.paragraphs:.0f} |"
    )


def main() -> None:
    """Print the table of docs/corpora.md, with the whole of the real corpora."""
    beside = Path(__file__).parents[3] / "shared" / "corpora"
    print(
        "| corpus | documents | their length | first person | short end | questions | semicolons | dashes | paragraph |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    pairs = [("en_essays", "paul_graham"), *((f"zh_articles/zh_{name}", f"cdme/zh_{name}") for name in DOMAINS)]
    for ours, real in pairs:
        place = str(beside / real) + (".jsonl" if real.startswith("cdme") else "")
        for name, where in ((ours, ours), (real, place)):
            if name == ours or Path(where).exists():
                corpus = read_corpus(locate(where))
                texts = [document.text for document in corpus.documents]
                print(_row(name, style(texts, corpus.language)), flush=True)


if __name__ == "__main__":
    main()
