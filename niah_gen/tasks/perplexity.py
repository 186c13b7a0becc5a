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
from typing import NamedTuple

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.windows import WindowedText, nominal_ends
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.hiding import FITTED_WHOLE
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.counted import Counted, counted
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Span, sha256_hex

# What separates documents joined to one text.
_BETWEEN = "\n\n"
_MOST_DOCUMENTS = 10_000
# The least context, in tokens, of windows after the first.
_LEAST_CONTEXT = 16
SCORES = ("stride", "window")


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
        if not 64 <= self.tokens <= 10_000_000:
            raise ValueError(f"tokens is {self.tokens}; expected 64 to 10,000,000")
        if not 1 <= self.documents <= _MOST_DOCUMENTS:
            raise ValueError(f"documents is {self.documents}; expected 1 to {_MOST_DOCUMENTS:,}")
        if self.stride < 0 or 0 < self.stride < _LEAST_CONTEXT:
            raise ValueError(f"stride is {self.stride}; expected at least {_LEAST_CONTEXT} tokens, or 0 for half")
        if self.score not in SCORES:
            raise ValueError(f"score is {self.score!r}; expected {' or '.join(SCORES)}")
        if self.stride and self.score == "window":
            raise ValueError("stride is given, but windows that are scored whole do not overlap; leave it out")


def stride_of(options: PerplexityOptions, length: int) -> int:
    """How many tokens after a window of a length the next one ends."""
    if options.score == "window":
        return length
    return options.stride or length // 2


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
    stride = stride_of(options, length)
    problems = []
    if length > options.tokens:
        problems.append(
            f"options.tokens: {options.tokens} of each document are scored, but a window has {length}; "
            f"use --set options.tokens={length}"
        )
    if length < 4 * _LEAST_CONTEXT:
        problems.append(f"lengths: {length} is too short for a window; expected at least {4 * _LEAST_CONTEXT} tokens")
    elif options.score == "stride" and stride > length - _LEAST_CONTEXT:
        problems.append(
            f"options.stride: {stride} leaves windows of {length} tokens no context; expected at most "
            f"{length - _LEAST_CONTEXT}"
        )
    if problems:
        raise RecipeError(problems, "task 'perplexity'")


class _ScoredText(NamedTuple):
    """A text to cut windows from. `documents`: how many were joined to make it."""

    text: str
    documents: int


class _Cutter:
    """Cuts the windows of one process; keeps the encoded text that consecutive cells share."""

    def __init__(self, bench: Workbench) -> None:
        if bench.form == "chat":
            raise RecipeError(["form: windows are read as plain text; leave out --chat"])
        if bench.reserve:
            raise RecipeError(["reserve: no answer follows a window; set reserve to 0 (--reserve 0)"])
        self._bench = bench
        self._texts: dict[str, _Drawn] = {}
        self._text: tuple[tuple[str, str], _ScoredText, WindowedText] | None = None

    def __call__(self, cell: Cell) -> Replayed:
        """The window of a cell. Raises FitError if the corpus does not have enough text."""
        options = self._bench.options
        text, windows = self._windowed(cell)
        try:
            if options.score == "window":
                chunks = windows.chunks(cell.length)
                window, whole = chunks[cell.repeat], windows.text.text[: chunks[-1].end.point]
            else:
                window = windows.window(cell.repeat, cell.length, stride_of(options, cell.length))
                whole = windows.whole
        except FitError as error:
            raise FitError(f"{cell.corpus}, {cell.needle}: {error}") from None
        start, target, end = window.start.point, window.target.point, window.end.point
        notes: tuple[str, ...] = ()
        if text.documents > 1:
            notes = (f"{cell.corpus}: texts of {options.tokens} tokens are several documents joined",)
        context = Context(
            (PromptMessage(None, (Piece(windows.text.text[start:end]),)),), sha256_hex(whole.encode())[:12],
            window.end.token - window.start.token, target_span=Span(start=target - start, end=end - start), notes=notes,
        )  # fmt: skip
        item = Item(cell.needle, cell.language, None, (), (), "nll", max_new_tokens=1)
        return Replayed(item, context)

    def _windowed(self, cell: Cell) -> tuple[_ScoredText, WindowedText]:
        key = (cell.corpus, cell.needle)
        if self._text is None or self._text[0] != key:
            if cell.corpus not in self._texts:
                self._texts[cell.corpus] = _Drawn(self._bench, cell.corpus)
            text, encoded = self._texts[cell.corpus][int(cell.needle.partition("-")[2]) - 1]
            windows = WindowedText(encoded, self._bench.options.tokens, self._bench.tokenizer)
            self._text = (key, text, windows)
        return self._text[1:]


class _Drawn:
    """The texts of a corpus that are long enough, in an order drawn from the recipe's seed."""

    def __init__(self, bench: Workbench, name: str) -> None:
        self._name = name
        self._bench = bench
        corpus, options = bench.corpora[name], bench.options
        self._texts = list(_texts(corpus, options, bench.tokenizer))
        random.Random(f"{bench.seed}/{name}/perplexity").shuffle(self._texts)
        self._at = 0
        self._long_enough: list[tuple[_ScoredText, Counted]] = []

    def __getitem__(self, number: int) -> tuple[_ScoredText, Counted]:
        tokens = self._bench.options.tokens
        while len(self._long_enough) <= number:
            if self._at == len(self._texts):
                hint = "" if self._bench.options.join else ", or join short ones with options.join=true"
                raise FitError(
                    f"corpus {self._name!r} has {len(self._long_enough)} texts of {tokens} tokens, expected "
                    f"{self._bench.options.documents}; use a larger corpus, or set options.documents or "
                    f"options.tokens lower{hint}"
                )
            text = self._texts[self._at]
            self._at += 1
            # No text has more tokens than bytes.
            if len(text.text.encode()) >= tokens:
                encoded = counted(text.text, self._bench.tokenizer)
                if encoded.size >= tokens:
                    self._long_enough.append((text, encoded))
        return self._long_enough[number]


def _texts(corpus: Corpus, options: PerplexityOptions, tokenizer: Tokenizer) -> Iterator[_ScoredText]:
    """The documents of a corpus, with the short ones joined in reading order if the options say so."""
    joined: list[str] = []
    size = 0
    for document in corpus.documents:
        if not options.join or (tokens := tokenizer.count(document.text)) >= options.tokens:
            yield _ScoredText(document.text, 1)
            continue
        joined.append(document.text.strip())
        size += tokens
        if size >= options.tokens:
            yield _ScoredText(_BETWEEN.join(joined), len(joined))
            joined, size = [], 0


PERPLEXITY = Task(
    "perplexity", 1, _ids, Replay(_Cutter), PerplexityOptions, context=FITTED_WHOLE,
    coordinates=_coordinates,
)  # fmt: skip
