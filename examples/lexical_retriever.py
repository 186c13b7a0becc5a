"""Answers prompts without a model: BM25 finds the sentence that shares the rarest words with the question.

    python examples/lexical_retriever.py DATASET answers.jsonl
    python examples/lexical_retriever.py DATASET answers.jsonl --window 4000
    python examples/lexical_retriever.py DATASET answers.jsonl --hops 5

It reads only `id` and `prompt`, so it knows exactly what a model would be told. It finds the question in the prompt,
splits the rest into sentences, and answers with the sentence that matches the question best, unchanged. It understands
nothing; its score shows how much of a dataset can be solved by word overlap. Questions that ask for several facts need
--sentences. With --hops it searches repeatedly: each sentence found becomes the next query, and the answer is all of
the sentences found. With --window it reads only that many words from the prompt's end, like an engine that truncates
long prompts: anything before them cannot be found.

BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.5, with
sentences as documents. For each term of the query that it contains, `count` times, a sentence of `length` terms gets

    rarity * count * (k1 + 1) / (count + k1 * (1 - b + b * length / mean length))
    rarity = log(1 + (sentences - holding + 0.5) / (holding + 0.5))

where `holding` is the number of sentences that contain the term; the 1 in the logarithm keeps common terms above 0.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

K1, B = 1.2, 0.75  # usual values

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")  # a Chinese character counts as a word
HAN_RUN = re.compile(f"[{HAN}]+")
RUN = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")
END_OF_SENTENCE = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"”’)]))\s+|(?<=[。！？])(?![”’」』）])|(?<=[。！？][”’」』）])|\n+"
)
# What precedes the question in the prompts of this project, NeedleBench and LLMTest_NeedleInAHaystack.
ASKED = re.compile(
    r"(?:^Question\s?:|^问题：|^Pregunta:|^質問：|^السؤال:|Now, the question is:|现在请问：|</context>\n\n)[ ]*(.+)",
    re.MULTILINE,
)


def files_of(dataset: Path) -> list[Path]:
    """The files with the rows of a dataset folder, in row order, or the given file."""
    if not dataset.is_dir():
        return [dataset]
    from niah_score.contract import ContractError, open_dataset  # reading a single file does not need it

    try:
        return [file.path for file in open_dataset(dataset).files()]
    except ContractError as error:
        print(f"lexical_retriever: {error}", file=sys.stderr)
        sys.exit(2)


def rows(dataset: Path) -> Iterator[tuple[str, Any]]:
    """The (id, prompt) of every row, in row order."""
    for file in files_of(dataset):
        if file.suffix == ".parquet":
            with pq.ParquetFile(file) as table:
                for batch in table.iter_batches(batch_size=16, columns=["id", "prompt"]):
                    yield from ((row["id"], row["prompt"]) for row in batch.to_pylist())
        else:
            with pa.input_stream(file) as stream:  # unpacks .gz and .zst by their suffixes
                for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n"):
                    row = json.loads(line)
                    yield row["id"], row["prompt"]


class Index(NamedTuple):
    """`holding`: for each term, its count in each sentence that contains it; `lengths`: the terms of each sentence."""

    holding: dict[str, dict[int, int]]
    lengths: list[int]


def answer(prompt: str | list[dict[str, str]], window: int | None = None, most: int = 1, hops: int = 1) -> str:
    """The sentences that match the prompt's question best, up to `most`, in text order; empty if none matches.

    `hops`: the number of searches, each for what the previous one found; the answer is then all finds, in that order.
    """
    text = prompt if isinstance(prompt, str) else "\n\n".join(message["content"] for message in prompt)
    text = last_words(text, window)
    question = question_in(text)
    sentences = [part.strip() for part in END_OF_SENTENCE.split(text.replace(question, "\n")) if part.strip()]
    index = index_of(sentences)
    places = best(bm25(question, index), most) if hops == 1 else chain(question, sentences, index, hops)
    return " ".join(sentences[place] for place in places)


def best(scores: dict[int, float], most: int) -> list[int]:
    """The places of the highest scores, in text order; of equal scores, the first win."""
    return sorted(sorted(scores, key=lambda place: (-scores[place], place))[:most])


def chain(question: str, sentences: list[str], index: Index, hops: int) -> list[int]:
    """The best sentence for the question, the best other one for that sentence, and so on until none matches."""
    places: list[int] = []
    query = question
    for _ in range(hops):
        scores = {place: score for place, score in bm25(query, index).items() if place not in places}
        if not scores:
            break
        places += best(scores, 1)
        query = sentences[places[-1]]
    return places


def last_words(text: str, window: int | None) -> str:
    """The end of a text: its last `window` words, or all of it for None."""
    starts = [] if window is None else [word.start() for word in WORD.finditer(text)]
    return text if window is None or len(starts) <= window else text[starts[-window] :]


def question_in(text: str) -> str:
    """The text after the last question marker; the last line if there is none."""
    marked = ASKED.findall(text)
    return (marked or text.rstrip().splitlines()[-1:] or [""])[-1]


def terms(text: str) -> list[str]:
    """Words in lower case; for Chinese, which has no spaces between words, every pair of adjacent characters."""
    found = []
    for run in RUN.findall(text.lower()):
        chinese = HAN_RUN.fullmatch(run) and len(run) > 1
        found += [run[at : at + 2] for at in range(len(run) - 1)] if chinese else [run]
    return found


def index_of(sentences: list[str]) -> Index:
    """Counts the terms of every sentence, once for all searches."""
    index = Index({}, [])
    for place, sentence in enumerate(sentences):
        found = terms(sentence)
        index.lengths.append(len(found))
        for term in found:
            counts = index.holding.setdefault(term, {})
            counts[place] = counts.get(place, 0) + 1
    return index


def bm25(query: str, index: Index) -> dict[int, float]:
    """The score of every sentence that shares a term with the query, by its place."""
    sentences = len(index.lengths)
    mean = sum(index.lengths) / max(sentences, 1)
    scores: dict[int, float] = {}
    for term in dict.fromkeys(terms(query)):
        counts = index.holding.get(term, {})
        rarity = math.log(1 + (sentences - len(counts) + 0.5) / (len(counts) + 0.5))
        for place, count in counts.items():
            damping = K1 * (1 - B + B * index.lengths[place] / mean)
            scores[place] = scores.get(place, 0.0) + rarity * count * (K1 + 1) / (count + damping)
    return scores


def main() -> None:
    """Answer every prompt of a dataset, one line per row, each written at once."""
    parser = argparse.ArgumentParser(description="Answer a dataset's prompts by BM25 over their sentences.")
    parser.add_argument("dataset", type=Path, help="dataset folder, or one of its Parquet or JSONL files")
    parser.add_argument("out", type=Path, help="JSONL file for the answers")
    parser.add_argument("--window", type=int, metavar="WORDS", help="words read from the prompt's end; default all")
    parser.add_argument("--sentences", type=int, default=1, metavar="N", help="sentences an answer may have; default 1")
    parser.add_argument("--hops", type=int, default=1, metavar="N", help="searches, each for the last hit; default 1")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    options = parser.parse_args()
    if min(options.sentences, options.hops) < 1 or (options.window is not None and options.window < 1):
        parser.error("--window, --sentences and --hops: expected at least 1")
    if options.sentences > 1 and options.hops > 1:
        parser.error("--sentences and --hops: choose one; with hops the answer is one sentence per hop")
    if not options.dataset.exists():
        parser.error(f"{options.dataset}: no such dataset")
    if options.out.exists() and not options.overwrite:
        parser.error(f"{options.out}: already exists; choose another file, or use --overwrite")
    answered = 0
    coming = rows(options.dataset)
    try:
        first = next(coming, None)  # read before anything is written, so that a bad dataset replaces no answers
        with options.out.open("w", encoding="utf-8") as out:
            for row_id, prompt in itertools.chain([first] if first else [], coming):
                said = answer(prompt, options.window, options.sentences, options.hops)
                line = {"id": row_id, "prediction": said}
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                out.flush()
                answered += 1
    except OSError as error:
        parser.error(f"{error.filename or options.out}: {error.strerror or error}")
    except (ValueError, LookupError, TypeError, RecursionError) as error:  # including pyarrow's own
        parser.error(f"{options.dataset}: expected rows with id and prompt ({type(error).__name__}: {error})")
    if not answered:
        parser.error(f"{options.dataset}: no rows found; expected a folder with data/*/*.parquet or jsonl/*/*.jsonl")
    print(f"{options.out}: {answered:,} answers")


if __name__ == "__main__":
    main()
