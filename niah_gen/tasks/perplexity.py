"""Cuts documents into sliding windows for scoring log-probabilities: nothing is hidden and nothing asked.

The windows of every length score the same tokens of the same documents, each token once: the first window scores all of
its tokens but the first, and each later one the tokens of its last stride, with all the context before them that its
length allows. Work on long contexts scores PG-19 and Proof-pile like this, in strides of 256 tokens (O. Press et al.,
ICLR 2022; S. Chen et al., 2023).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.windows import WindowedText, nominal_ends
from niah_gen.prompts.frame import said
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.hiding import FITTED_WHOLE
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Span, sha256_hex

# The least context, in tokens, of windows after the first.
_LEAST_CONTEXT = 16


@dataclass(frozen=True, slots=True)
class PerplexityOptions:
    """The recipe's [options].

    `tokens`: how many tokens of each document are scored, from its beginning. `documents`: how many documents of each
    corpus. `stride`: how many tokens later the next window ends; 0 for half the window's length. `join`: whether
    shorter documents are joined, in reading order, to texts of at least `tokens` tokens, or left out. `score`: `stride`
    as described above; `window` for adjacent windows that are scored from their first token on.
    """

    tokens: int = 8000
    documents: int = 8
    stride: int = 0
    join: bool = True
    score: str = "stride"

    def __post_init__(self) -> None:
        if self.stride and self.score == "window":
            raise ValueError("stride is given, but windows that are scored whole do not overlap; leave it out")
        if self.stride < 0 or 0 < self.stride < _LEAST_CONTEXT:
            raise ValueError(f"stride is {self.stride}; expected at least {_LEAST_CONTEXT} tokens, or 0 for half")
        check_options(self, tokens=range(64, 10_000_001), documents=range(1, 10_001), score=("stride", "window"))


def stride_of(options: PerplexityOptions, length: int) -> int:
    """How many tokens after a window of a length the next one ends."""
    return length if options.score == "window" else options.stride or length // 2


def window_ends(options: PerplexityOptions, length: int) -> list[int]:
    """Where the windows of a length end at the latest, in tokens of their text."""
    if options.score == "window":
        return list(range(length, options.tokens + 1, length))
    return nominal_ends(options.tokens, length, stride_of(options, length))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    """The needle axis: the documents, by number, in any language."""
    return [f"document-{number}" for number in range(1, settings.options.documents + 1)]


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    options = settings.options
    for length in reversed(axes.lengths):
        _check_length(options, length)
    for length in axes.lengths:
        for name in _ids(settings, language):
            for number in range(len(window_ends(options, length))):
                yield Coordinates(length, name, number)


def _check_length(options: PerplexityOptions, length: int) -> None:
    """Raises RecipeError for a length that does not go with the options."""
    stride, least = stride_of(options, length), 4 * _LEAST_CONTEXT
    problem = None
    if length > options.tokens:
        problem = (
            f"options.tokens: {options.tokens} of each document are scored, but a window has {length}; "
            f"use --set options.tokens={length}"
        )
    elif length < least:
        problem = f"lengths: {length} is too short for a window; expected at least {least} tokens"
    elif options.score == "stride" and stride > length - _LEAST_CONTEXT:
        most = length - _LEAST_CONTEXT
        problem = f"options.stride: {stride} leaves windows of {length} tokens no context; expected at most {most}"
    if problem:
        raise RecipeError([problem], "task 'perplexity'")


class _Cutter:
    """Cuts the windows of one process; keeps the encoded texts."""

    def __init__(self, bench: Workbench) -> None:
        if bench.form == "chat":
            raise RecipeError(["form: windows are read as plain text; leave out --chat"])
        if bench.reserve:
            raise RecipeError(["reserve: no answer follows a window; set reserve to 0 (--reserve 0)"])
        self._bench = bench
        self._texts = {name: _long_texts(bench, name) for name in bench.corpora}
        self._found: dict[str, list[tuple[WindowedText, int]]] = {name: [] for name in bench.corpora}

    def __call__(self, cell: Cell) -> Replayed:
        """The window of a cell. Raises FitError if the corpus does not have enough text."""
        options = self._bench.options
        windows, documents = self._text(cell)
        text = windows.text.text
        try:
            if options.score == "window":
                chunks = windows.chunks(cell.length)
                window, whole = chunks[cell.repeat], text[: chunks[-1].end.point]
            else:
                window = windows.window(cell.repeat, cell.length, stride_of(options, cell.length))
                whole = windows.whole
        except FitError as error:
            raise FitError(f"{cell.corpus}, {cell.needle}: {error}") from None
        start, target, end = window.start.point, window.target.point, window.end.point
        joined = f"{cell.corpus}: texts of {options.tokens} tokens are several documents joined"
        context = Context(
            (said(None, text[start:end]),), sha256_hex(whole.encode())[:12],
            window.end.token - window.start.token, target_span=Span(start=target - start, end=end - start),
            notes=(joined,) if documents > 1 else (),
        )  # fmt: skip
        return Replayed(Item(cell.needle, cell.language, None, (), (), "nll", max_new_tokens=1), context)

    def _text(self, cell: Cell) -> tuple[WindowedText, int]:
        """The text of a cell, and how many documents were joined to make it."""
        options, found = self._bench.options, self._found[cell.corpus]
        number = int(cell.needle.partition("-")[2])
        found += islice(self._texts[cell.corpus], max(0, number - len(found)))
        if number > len(found):
            hint = "" if options.join else ", or join short ones with options.join=true"
            raise FitError(
                f"corpus {cell.corpus!r} has {len(found)} texts of {options.tokens} tokens, expected "
                f"{options.documents}; use a larger corpus, or set options.documents or options.tokens lower{hint}"
            )
        return found[number - 1]


def _long_texts(bench: Workbench, name: str) -> Iterator[tuple[WindowedText, int]]:
    """The texts of a corpus that are long enough, in a seeded order, each with the number of its documents."""
    tokens = bench.options.tokens
    texts = list(_texts(bench.corpora[name], bench.options, bench.tokenizer))
    random.Random(f"{bench.seed}/{name}/perplexity").shuffle(texts)
    for text, documents in texts:
        # No text has more tokens than bytes.
        if len(text.encode()) >= tokens:
            encoded = counted(text, bench.tokenizer)
            if encoded.size >= tokens:
                yield WindowedText(encoded, tokens, bench.tokenizer), documents


def _texts(corpus: Corpus, options: PerplexityOptions, tokenizer: Tokenizer) -> Iterator[tuple[str, int]]:
    """The documents of a corpus, with the short ones joined in reading order if the options say so."""
    joined: list[str] = []
    size = 0
    for document in corpus.documents:
        if not options.join or (tokens := tokenizer.count(document.text)) >= options.tokens:
            yield document.text, 1
            continue
        joined.append(document.text.strip())
        size += tokens
        if size >= options.tokens:
            yield "\n\n".join(joined), len(joined)
            joined, size = [], 0


PERPLEXITY = Task(
    "perplexity", 1, _ids, Replay(_Cutter), PerplexityOptions, FITTED_WHOLE, coordinates=_coordinates,
)  # fmt: skip
