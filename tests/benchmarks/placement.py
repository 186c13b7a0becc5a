"""Measures what each placement does to the same corpora: broken characters, cut sentences, depths, token counts.

make measure            needs the corpora paul_graham and cdme (niah-gen corpora fetch ...), or NIAH_CORPORA

Everything is measured on the finished prompts: a needle is inside a sentence if the text before it does not end in
closing punctuation; tokens are counted by encoding the whole prompt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import niah_gen
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.tasks.own_needles import find_needles
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.text.language import find_language

BESIDE = Path(__file__).parents[3] / "shared" / "corpora"
LENGTHS = [1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000]
RESERVE = 200
TOKENIZERS = ("cl100k_base", "o200k_base")
ENGLISH = ("paul_graham", "en_essays")
CHINESE = (*(f"cdme/zh_{d}" for d in ("finance", "game", "general", "government", "movie", "tech")), "zh_articles")
# Small texts written for tests, which repeat many times at most lengths.
TEXTS = Path(__file__).parents[1] / "corpora" / "texts"
OTHERS = ("fr", "es", "ja", "ar")
NEEDLES = {"en": "brannock-lighthouse", "zh": "qingmen-teahouse"}
CLOSING = set(".!?…。！？؟۔")
AROUND = "\"'’”)]」』）》】» \n\t\u3000\u00a0\u202f"


class Figures(NamedTuple):
    """Counts over the prompts of one placement on one corpus: sums and maxima."""

    rows: int
    broken: int
    inside: int
    not_once: int
    miscounted: int
    over: int
    most_below: int
    error_sum: float
    error_most: float
    beyond_half: int

    def with_more(self, more: Figures) -> Figures:
        """The figures of both together."""
        both = Figures(*(a + b for a, b in zip(self, more, strict=True)))  # type: ignore[arg-type]
        return both._replace(
            most_below=max(self.most_below, more.most_below), error_most=max(self.error_most, more.error_most)
        )


def measured(placement: str, corpus: str, tokenizer_name: str) -> Figures:
    """The figures of 21 depths x 8 lengths."""
    language = language_of(corpus)
    tokenizer = find_tokenizer(tokenizer_name)
    in_corpus = "\0".join(document.text for document in read_corpus(locate(corpus)).documents).count("\ufffd")
    figures = Figures(0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0)
    recipe = {
        "allow_repeats": True,
        "placement": placement, "corpora": [corpus], "tokenizer": tokenizer_name, "lengths": LENGTHS,
        "template": "niah", "needles": [NEEDLES.get(language) or find_needles(f"single-{language}")[0].id],
        "guide": False, "reserve": RESERVE, "form": "text",
    }  # fmt: skip
    tag = find_language(language).prompt.document
    joiner = len(joiner_of(language))
    for row in niah_gen.iter_rows(recipe):
        prompt = str(row["prompt"])
        needle, span = row["needles"][0], row["needle_spans"][0]
        opening = f"<{tag}>\n"
        context = prompt.index(opening) + len(opening)
        before = prompt[context : span["start"]].rstrip(AROUND)
        start = span["start"] - context
        end = prompt.index("\n</", span["end"])
        if start:
            filler = prompt[context : span["start"] - joiner] + prompt[span["end"] : end]
        else:
            filler = prompt[span["end"] + joiner : end]
        half = 0.0
        if placement == "native":
            half = _half_a_segment(filler, max(0, start - joiner), row["haystack_tokens"], tokenizer, language)
        error = abs(row["needle_depths"][0] - (row["depth_percent"] or 0.0))
        below = (row["length"] or 0) - RESERVE - row["prompt_tokens"]
        figures = Figures(
            figures.rows + 1,
            figures.broken + (prompt.count("\ufffd") > in_corpus),
            figures.inside + (before != "" and before[-1] not in CLOSING),
            figures.not_once + (prompt.count(needle) != 1 or prompt[span["start"] : span["end"]] != needle),
            figures.miscounted + (tokenizer.count(prompt) != row["prompt_tokens"]),
            figures.over + (below < 0),
            max(figures.most_below, below),
            figures.error_sum + error,
            max(figures.error_most, error),
            figures.beyond_half + (placement == "native" and error > half),
        )  # fmt: skip
    return figures


def _half_a_segment(filler: str, at: int, haystack_tokens: int, tokenizer: Tokenizer, language: str) -> float:
    """Half of the longer segment next to a place in the filler, in percent; a token is added for counting it alone."""
    ends = sentence_ends(filler, language)
    left = max((end for end in ends if end < at), default=0)
    right = min((end for end in ends if end > at), default=len(filler))
    longest = max(tokenizer.count(filler[left:at]), tokenizer.count(filler[at:right]))
    return 100 * (longest / 2 + 1) / haystack_tokens


def jobs() -> Iterator[tuple[str, str, str]]:
    """All placements on all corpora."""
    for placement in ("native", "opencompass", "gkamradt"):
        for corpus in (*ENGLISH, *CHINESE):
            for tokenizer in TOKENIZERS:
                yield placement, corpus, tokenizer
    for code in OTHERS:
        for tokenizer in TOKENIZERS:
            yield "native", str(TEXTS / code), tokenizer


def language_of(corpus: str) -> str:
    """The language of a corpus, by its name."""
    code = Path(corpus).name
    return code if code in OTHERS else "zh" if "zh" in corpus else "en"


def _set(path: str) -> None:
    os.environ["NIAH_CORPORA"] = path


def main() -> None:
    if BESIDE.is_dir():
        os.environ.setdefault("NIAH_CORPORA", str(BESIDE))
    totals: dict[tuple[str, str], Figures] = {}
    # Arguments may name languages, to measure these alone.
    asked = [job for job in jobs() if not sys.argv[1:] or language_of(job[1]) in sys.argv[1:]]
    with ProcessPoolExecutor(os.cpu_count(), initializer=_set, initargs=(os.environ.get("NIAH_CORPORA", ""),)) as pool:
        for (placement, corpus, tokenizer), figures in zip(
            asked, pool.map(measured, *zip(*asked, strict=True)), strict=True
        ):
            print(f"{placement:12} {corpus:20} {tokenizer:12} {figures}", file=sys.stderr, flush=True)
            key = placement, find_language(language_of(corpus)).name
            known = totals.get(key)
            totals[key] = figures if known is None else known.with_more(figures)
    columns = [
        "placement", "corpora", "prompts", "with broken characters", "needle inside a sentence", "needle not once",
        "above the budget", "most below it, tokens", "depth error, mean", "most",
    ]  # fmt: skip
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for (placement, language), f in totals.items():
        print(
            f"| {placement} | {language} | {f.rows:,} | {100 * f.broken / f.rows:.1f} % "
            f"| {100 * f.inside / f.rows:.1f} % | {f.not_once} | {100 * f.over / f.rows:.1f} % | {f.most_below:,} "
            f"| {f.error_sum / f.rows:.2f} | {f.error_most:.1f} |"
        )
    miscounted = sum(figures.miscounted for figures in totals.values())
    beyond = sum(figures.beyond_half for figures in totals.values())
    rows = sum(figures.rows for figures in totals.values())
    print(f"\nPrompts whose prompt_tokens a full encoding does not give: {miscounted} of {rows:,}")
    print(f"Native needles further from their depth than half the longest segment around: {beyond}")


if __name__ == "__main__":
    main()
