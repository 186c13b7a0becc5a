"""Replays NoLiMa (A. Modarressi et al., ICML 2025) from a needle set and books that users bring.

The needle takes the place of a line end of the book, and the window of the book begins where it puts the needle at its
depth. Each book of the corpus is a repeat. Names, and the depths of distractors, are drawn in sequence over the depths
of one test and book. The published code numbers books in the file system's order; here they have the corpus's order.

A needle set is a JSON list of entries. Each has `id`, `needle` (with `{CHAR}` for a name and `{1}`, `{2}`, ... for a
test's arguments), `questions` by type (`onehop`, `twohop`, `direct`) and `tests` by id (`input_args`, optionally
`gold_answers`); optional are `character_set` (names), `system_prompt`, `task_template` and `distractors` (by question
type). The published set is non-commercial, so none is shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from niah_gen.errors import FitError, RecipeError
from niah_gen.prompts.frame import said
from niah_gen.tasks.base import LANGUAGES, Replay, Task
from niah_gen.tasks.options import OwnFile, own_file
from niah_gen.tasks.published.files import field, json_of, read_once, wrong
from niah_gen.tasks.records import Cell, Context, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.counted import Counted, counted
from niah_gen.tokenizers.find import Ints
from niah_score.contract import sha256_hex
from niah_score.text import fold, holds, stated

_FREE = 0.2  # the least distance of a distractor from the needle and the ends, as a share of the window
_SHORT = 500  # tokens: in shorter windows the needle's depth decides a distractor's
# The question type that repeats the needle's words; it is in none of the benchmark's scores.
_DIRECT = "direct"
_SYSTEM = "You are a helpful assistant"
# The published prompt; an entry may have its own.
_TEMPLATE = (
    "You will answer a question based on the following book snippet:\n\n{haystack}\n\n"
    "Use the information provided in the book snippet to answer the question. Your answer should be short and based on "
    "either explicitly stated facts or strong, logical inferences.\n\nQuestion: {question}\n\n"
    " Return only the final answer with no additional explanation or reasoning."
)


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


class Pair(NamedTuple):
    """A needle and a question about it, with a test's arguments filled in. The name is drawn later, for each row.

    `id`: `<entry>_<test>_<question type>`; `number`: the entry's, which is added to the seed. `names`: empty if the
    answers are fixed. `distractor`: a text hidden beside the needle, or None.
    """

    id: str
    number: int
    needle: str
    question: str
    names: list[str]
    answers: tuple[str, ...]
    distractor: str | None
    system: str
    template: str


@read_once
def read_pairs(path: Path, types: tuple[str, ...]) -> dict[str, Pair]:
    """The pairs of a set by id, in file order. `types`: the question types to ask; empty for all but `direct`.

    Raises RecipeError if the file is wrong, with the entry, or if it has no question of these types.
    """
    where = f"options.needle_set: {path.name}"
    entries = json_of(path.read_bytes(), where)
    if not isinstance(entries, list):
        raise RecipeError([f"{where}: expected a list of entries, one object each"])
    pairs: dict[str, Pair] = {}
    for number, entry in enumerate(entries, 1):
        for pair in _pairs_of(entry, f"{where}: entry {number}", types):
            if pairs.setdefault(pair.id, pair) is not pair:
                raise RecipeError([f"{where}: entry {number}: {pair.id!r} occurs twice; give every entry its own id"])
    if not pairs:
        raise RecipeError([f"{where}: no question of type {' or '.join(types) or 'other than direct'}"])
    return pairs


def _pairs_of(entry: Any, where: str, types: tuple[str, ...]) -> Iterator[Pair]:
    name, needle = field(entry, "id", "a text", where), field(entry, "needle", "a text", where)
    if not name[:4].isdecimal():
        raise wrong(where, "id", name, "it to begin with four digits, which are added to the seed")
    template = field(entry, "task_template", "a text", where, _TEMPLATE)
    if template.count("{haystack}") != 1 or "{question}" not in template:
        raise wrong(where, "task_template", template, "it to have {question}, and {haystack} exactly once")
    system = field(entry, "system_prompt", "a text", where, _SYSTEM)
    names = field(entry, "character_set", "a list of texts", where, [])
    questions = field(entry, "questions", "texts by name", where)
    distractors = field(entry, "distractors", "texts by name", where, {})
    for test, asked in field(entry, "tests", "objects by name", where).items():
        place = f"{where}, test {test!r}"
        answers = asked.get("gold_answers")
        answers = [answers] if isinstance(answers, str) else field(asked, "gold_answers", "a list of texts", place, [])
        if not names and not answers:
            raise RecipeError([f"{place}: it has no gold_answers, and the entry no character_set"])
        arguments = field(asked, "input_args", "a list of texts", place, [])
        for kind, question in questions.items():
            if kind in types or (not types and kind != _DIRECT):
                distractor = distractors.get(kind)
                yield Pair(
                    f"{name}_{test}_{kind}", int(name[:4]), _filled(needle, arguments), _filled(question, arguments),
                    names, tuple(answers), None if distractor is None else _filled(distractor, arguments), system,
                    template,
                )  # fmt: skip


def _filled(text: str, arguments: list[str]) -> str:
    for number, argument in enumerate(arguments, 1):
        text = text.replace(f"{{{number}}}", argument)
    return text


class Book(NamedTuple):
    """A book as tokens. `lines`: where a needle may stand, that is token 0 and every token with a line end."""

    source: Counted
    lines: Ints


def book_of(source: Counted) -> Book:
    """A book and the tokens where its lines end."""
    ends = np.flatnonzero(np.frombuffer(source.text.encode(), dtype=np.uint8) == ord("\n"))
    tokens = np.unique(np.searchsorted(source.ends, ends, side="right"))
    return Book(source, np.concatenate([np.zeros(1, dtype=np.int64), tokens]))


def window(book: Book, length: int, depth: float) -> tuple[int, str, str]:
    """The window of `length` tokens whose needle stands at `depth`, 0 to 1: its first token, its text before the needle
    and after it. The line end that the needle replaces is in neither.

    The needle replaces the book's first line end at or after token depth x (length + 1), and the window begins
    round(length x depth) tokens before it. Raises FitError if the book is too short for that.
    """
    source = book.source
    beyond = book.lines / (length + 1) - depth
    beyond[beyond < 0] = np.inf
    place = int(book.lines[np.argmin(beyond)])
    first = place - int(np.round(length * depth))
    if first < 0 or first + length > source.size or not np.isfinite(beyond).any():
        raise FitError(
            f"length {length}, depth {100 * depth:g}: a book of {source.size} tokens has no line end there with "
            "room for a window around it; use books twice as long as the longest length (--corpus FOLDER)"
        )
    before = source.of_tokens(first, place + 1)
    return first, before[: max(before.rfind("\n"), 0)], source.of_tokens(place + 1, first + length)


def draws(pair: Pair, seed: int, book: int, depths: Sequence[float]) -> list[tuple[str | None, float]]:
    """What is drawn for all depths (percent) of a test and a book, in order.

    That is a name, if the pair has names, and the depth of the distractor, 0 to 1. numpy's legacy generator is seeded
    with seed + the entry's number + the book's. For each depth it draws the name, then the depth of the distractor,
    uniformly from all that is at least 0.2 from the needle and from the ends.
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
        drawn.append((name, at))
    return drawn


def distractor_depth(drawn: float, length: int, depth: float) -> float:
    """A distractor's depth, 0 to 1: the drawn one; in short windows, one that the needle's depth decides."""
    if length >= _SHORT:
        return drawn
    return 0.7 if depth < 0.6 else 0.6 if depth > 0.75 else 0.5


def with_distractor(
    book: Book, length: int, depth: float, needle: str, distractor: str, wanted: float
) -> tuple[str, int, int]:
    """A window with needle and distractor, and the characters where each begins. `wanted`: the distractor's depth.

    The distractor is first put into a window of its own. As published, the 50 characters before it (25 in windows below
    500 tokens) are then looked up in the needle's window, and the distractor goes 49 (23) characters after they begin.
    Raises FitError unless they occur there exactly once.
    """
    _, before, after = window(book, length, wanted)
    lead, step = (50, 49) if length >= _SHORT else (25, 23)
    own_window = f"{before} {distractor}\n{after}"
    place = own_window.index(distractor)
    sought = own_window[max(place - lead, 0) : place - 1]
    _, before, after = window(book, length, depth)
    text = f"{before} {needle}\n{after}"
    if text.count(sought) != 1:
        raise FitError(
            f"length {length}, depth {100 * depth:g}: the text before the distractor occurs {text.count(sought)} times "
            "in the needle's window, expected once; leave this depth out, or use other books"
        )
    cut = text.index(sought) + step
    at = len(before) + 1
    if cut <= at:
        at += len(distractor) + 2
    return f"{text[:cut]} {distractor}\n{text[cut:]}", at, cut + 1


def _replay(bench: Workbench) -> Callable[[Cell], Replayed]:
    pairs = bench.options.pairs()

    @lru_cache(maxsize=8)
    def book(corpus: str, number: int) -> Book:
        documents = bench.corpora[corpus].documents
        if number >= len(documents):
            raise FitError(f"repeat {number}: {corpus} has {len(documents)} books, one for each repeat; ask for fewer")
        return book_of(counted(documents[number].text, bench.tokenizer))

    @lru_cache(maxsize=8)
    def drawn(name: str, number: int) -> dict[float, tuple[str | None, float]]:
        return dict(zip(bench.depths, draws(pairs[name], bench.seed, number, bench.depths), strict=True))

    def make(cell: Cell) -> Replayed:
        name, other = drawn(cell.needle, cell.repeat)[cell.depth or 0.0]
        return _replayed(cell, pairs[cell.needle], book(cell.corpus, cell.repeat), name, other)

    return make


def _replayed(cell: Cell, pair: Pair, book: Book, name: str | None, drawn: float) -> Replayed:
    length, depth = cell.length, (cell.depth or 0.0) / 100
    needle = pair.needle if name is None else pair.needle.replace("{CHAR}", name)
    answers = pair.answers if name is None else (name,)
    first, before, after = window(book, length, depth)
    depths = [depth]
    if pair.distractor is None:
        hidden: tuple[str, ...] = (needle,)
        text, places = f"{before} {needle}\n{after}", [len(before) + 1]
    else:
        hidden = (needle, pair.distractor)
        depths.append(distractor_depth(drawn, length, depth))
        text, *places = with_distractor(book, length, depth, needle, pair.distractor, depths[1])
    opening, closing = (part.replace("{question}", pair.question) for part in pair.template.split("{haystack}"))
    item = Item(
        pair.id, cell.language, pair.question, answers, (answers,), "nolima_contains", hidden,
        keyword_kinds=("text",), distractors=len(hidden) - 1,
    )  # fmt: skip
    source = book.source
    bytes_ = source.text.encode()[int(source.ends[first - 1]) if first else 0 : int(source.ends[first + length - 1])]
    user = said("user", opening + text + closing, [len(opening) + place for place in places], hidden)
    context = Context(
        turns=(said("system", pair.system), user),
        haystack_id=sha256_hex(bytes_)[:12],
        haystack_tokens=length,
        needle_depths=tuple(100 * (int(np.round(length * share)) / length) for share in depths),
        boundary="paragraph",
        leak=_leak(source, bytes_.decode(errors="replace"), answers),
        needle_turn=1,
    )
    return Replayed(item, context)


def _leak(source: Counted, text: str, answers: tuple[str, ...]) -> str | None:
    """The answers that the window states without the needle, joined by `, `; None if there are none."""

    def held(word: str) -> bool:
        return holds(source.folded, word) and holds(fold(text), word)

    return ", ".join(stated(held, (answers,))) or None


def _ids(settings: Settings, language: str) -> Sequence[str]:
    if language not in LANGUAGES:
        return []
    if settings.options.needle_set is None:
        return ["unknown"]  # presets name no file; the error that one is needed comes when rows are made
    return list(settings.options.pairs())


NOLIMA = Task("nolima", 1, _ids, Replay(_replay), NoLiMaOptions)
