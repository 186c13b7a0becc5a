"""Measures what readers notice of a whole corpus: how its documents open and end, their lengths, their punctuation.

make measure            the bundled corpora beside the real ones, as in docs/corpora.md

A unit is a word of English or a character of Chinese, as in quality.py. A corpus of one voice shows here: most of its
documents open in the first person, end on a short sentence, and are of about one length.
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
# A closing sentence of so many units or fewer is one that closes with a tap.
SHORT_END = {"en": 8, "zh": 12}
_FIRST_PERSON = {"en": re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|[Mm]e|[Uu]s)\b"), "zh": re.compile("我|咱|笔者|本人")}
_QUESTIONS = {"en": "?", "zh": "？"}
_SEMICOLONS = {"en": ";", "zh": "；"}
_DASHES = {"en": re.compile(r"\w - \w|\w-- ?\w|—"), "zh": re.compile("——")}


class Style(NamedTuple):
    """One corpus. `lengths`: units of its documents, the tenth, fiftieth and ninetieth percentile. Shares are percent.

    `first_person`: of documents, whose first sentence speaks of I or we; `short_ends`: whose last sentence is short.
    `questions`: of sentences. `semicolons`, `dashes`: in 1,000 units. `paragraphs`: median units of a paragraph.
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
    """The sentences of a text that say something, as the generator finds them."""
    cuts = [0, *sentence_ends(text), len(text)]
    found = [text[start:end].strip() for start, end in pairwise(cuts)]
    return [sentence for sentence in found if any(map(str.isalnum, sentence))]


def style(texts: Sequence[str], language: str) -> Style:
    """The style of some documents; needs two."""
    each = [sentences(text) for text in texts]
    lengths = [len(units(text, language)) for text in texts]
    tenths = statistics.quantiles(lengths, n=10)
    total = sum(lengths)
    every = [sentence for found in each for sentence in found]
    last = [sum(sentence_lengths([found[-1]], language)) for found in each]
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


def _row(name: str, found: Style) -> str:
    lengths = " / ".join(f"{value:,.0f}" for value in found.lengths)
    return (
        f"| {name} | {found.documents} | {lengths} | {found.first_person:.0f} % | {found.short_ends:.0f} % | "
        f"{found.questions:.1f} % | {found.semicolons:.2f} | {found.dashes:.2f} | {found.paragraphs:.0f} |"
    )


def main() -> None:
    """Print the table of docs/corpora.md; the real corpora whole."""
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
