"""Replays NoLiMa (A. Modarressi et al., ICML 2025) from a needle set and books that users bring.

The needle takes the place of a line end of the book, and the window of the book begins where it puts the needle at its
depth. Each book of the corpus is a repeat. Names, and the depths of distractors, are drawn in sequence over the depths
of one test and book. The published code numbers books in the file system's order; here they have the corpus's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from niah_gen.errors import FitError, RecipeError
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import LANGUAGES, Replay, Task
from niah_gen.tasks.own_files import OwnFile, own_file
from niah_gen.tasks.published.nolima_needles import Pair, read_pairs
from niah_gen.tasks.records import Cell, Context, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Encoded, Slice, encode
from niah_score.contract import sha256_hex
from niah_score.text import fold, holds, stated

_FREE = 0.2  # the least distance of a distractor from the needle and the ends, as a share of the window
_SHORT = 500  # tokens: in shorter windows the needle's depth decides a distractor's
_HAYSTACK, _QUESTION = "{haystack}", "{question}"


@dataclass(frozen=True, slots=True)
class NoLiMaOptions:
    """The recipe's [options]. `needle_set`: the user's file. `questions`: types to ask; empty for all but direct."""

    needle_set: OwnFile | None = None
    questions: tuple[str, ...] = ()

    def pairs(self) -> dict[str, Pair]:
        """The pairs to ask, by id. Raises RecipeError if the file is missing or wrong."""
        if self.needle_set is None:
            raise RecipeError(["options.needle_set: expected the path of a NoLiMa needle set (docs/published.md)"])
        return read_pairs(own_file(self.needle_set), self.questions)


class Book(NamedTuple):
    """A book as tokens. `lines`: where a needle may stand, that is token 0 and every token with a line end."""

    source: Encoded
    lines: Ints


class Window(NamedTuple):
    """A window of a book: tokens `first` to `last`. The needle follows byte `cut`; the rest begins at byte `rest`.

    Between the two is the line end that the needle replaces.
    """

    first: int
    last: int
    cut: int
    rest: int


class Draw(NamedTuple):
    """What is drawn for a row: a name, if the pair has names, and the depth of its distractor, 0 to 1."""

    name: str | None
    distractor_depth: float


def book_of(source: Encoded) -> Book:
    """A book and the tokens where its lines end."""
    ends = np.flatnonzero(np.frombuffer(source.data, dtype=np.uint8) == ord("\n"))
    tokens = np.unique(np.searchsorted(source.ends, ends, side="right"))
    return Book(source, np.concatenate([np.zeros(1, dtype=np.int64), tokens]))


def window(book: Book, length: int, depth: float) -> Window:
    """The window of `length` tokens whose needle stands at `depth`, 0 to 1.

    The needle replaces the book's first line end at or after token depth x (length + 1), and the window begins
    round(length x depth) tokens before it. Raises FitError if the book is too short for that.
    """
    beyond = book.lines / (length + 1) - depth
    beyond[beyond < 0] = np.inf
    place = int(book.lines[np.argmin(beyond)])
    first = place - int(np.round(length * depth))
    if first < 0 or first + length > book.source.size or not np.isfinite(beyond).any():
        raise FitError(
            f"length {length}, depth {100 * depth:g}: a book of {book.source.size} tokens has no line end there with "
            "room for a window around it; use books twice as long as the longest length (--corpus FOLDER)"
        )
    begin, after = book.source.byte_at(first), book.source.byte_at(place + 1)
    return Window(first, first + length, max(book.source.data.rfind(b"\n", begin, after), begin), after)


def draws(pair: Pair, seed: int, book: int, depths: Sequence[float]) -> tuple[Draw, ...]:
    """The draws for all depths (percent) of a test and a book, in order.

    numpy's legacy generator is seeded with seed + the entry's number + the book's. For each depth it draws the name,
    then the depth of the distractor, uniformly from all that is at least 0.2 from the needle and from the ends.
    """
    generator = np.random.RandomState(seed + pair.number + book)
    drawn = []
    for percent in depths:
        depth = percent / 100
        name = pair.names[int(generator.choice(len(pair.names)))] if pair.names else None
        at = 0.0
        if pair.distractor is not None:
            left, right = max(0.0, depth - 2 * _FREE), max(0.0, 1 - (depth + 2 * _FREE))
            at = float(generator.uniform(0, left + right))
            at = depth + _FREE + (at - left) if at > left else at + _FREE
        drawn.append(Draw(name, at))
    return tuple(drawn)


def distractor_depth(drawn: float, length: int, depth: float) -> float:
    """A distractor's depth, 0 to 1: the drawn one; in short windows, one that the needle's depth decides."""
    if length >= _SHORT:
        return drawn
    return 0.7 if depth < 0.6 else 0.6 if depth > 0.75 else 0.5


def sides(book: Book, at: Window) -> tuple[str, str]:
    """The window's text before the needle, and after it."""
    source = book.source
    return source.text(source.byte_at(at.first), at.cut), source.text(at.rest, source.byte_at(at.last))


def with_distractor(
    book: Book, length: int, depth: float, needle: str, distractor: str, wanted: float
) -> tuple[str, int, int]:
    """A window with needle and distractor, and the characters where each begins. `wanted`: the distractor's depth.

    The distractor is first put into a window of its own. As published, the 50 characters before it (25 in windows below
    500 tokens) are then looked up in the needle's window, and the distractor goes 49 (23) characters after they begin.
    Raises FitError unless they occur there exactly once.
    """
    before, after = sides(book, window(book, length, wanted))
    lead, step = (50, 49) if length >= _SHORT else (25, 23)
    own_window = f"{before} {distractor}\n{after}"
    place = own_window.index(distractor)
    sought = own_window[max(place - lead, 0) : place - 1]
    before, after = sides(book, window(book, length, depth))
    text = f"{before} {needle}\n{after}"
    if text.count(sought) != 1:
        raise FitError(
            f"length {length}, depth {100 * depth:g}: the text before the distractor occurs {text.count(sought)} times "
            "in the needle's window, expected once; leave this depth out, or use other books"
        )
    cut = text.index(sought) + step
    needle_at = len(before) + 1
    return (
        f"{text[:cut]} {distractor}\n{text[cut:]}",
        needle_at + (len(distractor) + 2 if cut <= needle_at else 0),
        cut + 1,
    )


def _replay(bench: Workbench) -> Callable[[Cell], Replayed]:
    pairs = bench.options.pairs()

    @lru_cache(maxsize=8)
    def book(corpus: str, number: int) -> Book:
        documents = bench.corpora[corpus].documents
        if number >= len(documents):
            raise FitError(f"repeat {number}: {corpus} has {len(documents)} books, one for each repeat; ask for fewer")
        return book_of(encode(documents[number].text, bench.tokenizer))

    @lru_cache(maxsize=8)
    def drawn(name: str, number: int) -> dict[float, Draw]:
        return dict(zip(bench.depths, draws(pairs[name], bench.seed, number, bench.depths), strict=True))

    def make(cell: Cell) -> Replayed:
        percent = cell.depth or 0.0
        draw = drawn(cell.needle, cell.repeat)[percent]
        return _replayed(cell, pairs[cell.needle], book(cell.corpus, cell.repeat), draw, percent / 100)

    return make


def _replayed(cell: Cell, pair: Pair, book: Book, draw: Draw, depth: float) -> Replayed:
    needle = pair.needle_about(draw.name)
    answers = pair.answers if draw.name is None else (draw.name,)
    length, at = cell.length, window(book, cell.length, depth)
    first, last = book.source.byte_at(at.first), book.source.byte_at(at.last)
    shares = [int(np.round(length * depth)) / length]
    if pair.distractor is None:
        hide: tuple[str, ...] = (needle,)
        inside = [
            Piece(Slice(book.source, first, at.cut)), Piece(" "), Piece(needle, 0), Piece("\n"),
            Piece(Slice(book.source, at.rest, last)),
        ]  # fmt: skip
    else:
        hide = (needle, pair.distractor)
        wanted = distractor_depth(draw.distractor_depth, length, depth)
        text, place, other = with_distractor(book, length, depth, needle, pair.distractor, wanted)
        inside = list(_pieces(text, sorted([(place, needle, 0), (other, pair.distractor, 1)])))
        shares.append(int(np.round(length * wanted)) / length)
    before, after = (part.replace(_QUESTION, pair.question) for part in pair.template.split(_HAYSTACK))
    pieces = tuple(piece for piece in (Piece(before), *inside, Piece(after)) if _has_text(piece))
    item = Item(
        pair.id, cell.language, pair.question, answers, (answers,), "nolima_contains", hide,
        keyword_kinds=("text",), distractors=len(hide) - 1,
    )  # fmt: skip
    context = Context(
        turns=(PromptMessage("system", (Piece(pair.system),)), PromptMessage("user", pieces)),
        haystack_id=sha256_hex(book.source.data[first:last])[:12],
        haystack_tokens=length,
        needle_depths=tuple(100 * share for share in shares),
        boundary="paragraph",
        leak=_leak(book, first, last, item.keywords),
        needle_turn=1,
    )
    return Replayed(item, context)


def _pieces(text: str, needles: Sequence[tuple[int, str, int]]) -> Iterator[Piece]:
    """A text cut around its needles; each is given as the character where it begins, its text and its number."""
    at = 0
    for place, needle, number in needles:
        yield Piece(text[at:place])
        yield Piece(needle, number)
        at = place + len(needle)
    yield Piece(text[at:])


def _has_text(piece: Piece) -> bool:
    content = piece.content
    return bool(content) if isinstance(content, str) else content.start < content.end


def _leak(book: Book, first: int, last: int, keywords: Sequence[Sequence[str]]) -> str | None:
    """The answers that the window states without the needle, joined by `, `; None if there are none."""

    def held(word: str) -> bool:
        return holds(book.source.folded, word) and holds(fold(book.source.text(first, last)), word)

    return ", ".join(stated(held, keywords)) or None


def _ids(settings: Settings, language: str) -> Sequence[str]:
    if language not in LANGUAGES:
        return []
    if settings.options.needle_set is None:
        return ["unknown"]  # presets name no file; the error that one is needed comes when rows are made
    return list(settings.options.pairs())


NOLIMA = Task("nolima", 1, _ids, Replay(_replay), NoLiMaOptions)
