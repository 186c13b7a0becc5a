"""Replays NeedleBench v2: single-needle retrieval, multi-needle retrieval, reasoning, the Ancestral Trace Challenge.

Whole prompts are built as in opencompass/datasets/needlebench_v2. Haystacks and the places of needles are those of
OpenCompass's CDME, except in multi-needle retrieval, where one prompt has a needle at every depth of the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from niah_gen.errors import RecipeError
from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.opencompass import OpenCompassFiller, place
from niah_gen.haystacks.splice import DepthTargets, Spliced, TokenRange, insert, spliced
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import LANGUAGES, Replay, Task
from niah_gen.tasks.own_files import OwnFile, own_file
from niah_gen.tasks.published.needlebench_draws import (
    ATC_KINDS,
    atc_asked,
    fill,
    parallel_needles,
    parallel_question,
    prompts,
    reasoning_ancestry,
    single_needle,
)
from niah_gen.tasks.published.needlebench_files import NeedleLine, is_published, read_names, read_needles
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.spliced import Encoded, encode

_CONTEXT = "{context}"
# The buffers of the published set up to 4k; the longer sets have 3000 in English.
_BUFFERS = {"en": 500, "zh": 200}
_REASONING_COUNTS = (2, 3, 4, 5)
_ATC_COUNTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
_MOST_FACTS = 10_000


@dataclass(frozen=True, slots=True)
class NeedleBenchOptions:
    """The recipe's [options], the same for all four tasks; each uses what it needs.

    `names`, `needles`: the user's copies of names.json and needles.jsonl. `count`: how many facts a prompt of reasoning
    or the Ancestral Trace Challenge has, one number or several; the published ones by default. `buffer`: tokens taken
    off each length (`length_buffer`); by default 500 in English and 200 in Chinese. `position`: whether single and
    retrieval ask at the `end` or the `start`.
    """

    names: OwnFile | None = None
    needles: OwnFile | None = None
    count: int | tuple[int, ...] | None = None
    buffer: int | None = None
    position: str = "end"

    def __post_init__(self) -> None:
        counts = self.counts(())
        if not all(1 <= count <= _MOST_FACTS for count in counts) or len(set(counts)) < len(counts):
            raise ValueError(f"count is {self.count}; expected numbers of facts from 1 to {_MOST_FACTS}, none twice")
        if self.buffer is not None and self.buffer < 0:
            raise ValueError(f"buffer is {self.buffer}; expected 0 tokens or more")
        if self.position not in ("end", "start"):
            raise ValueError(f"position is {self.position!r}; expected end or start")

    def counts(self, usual: tuple[int, ...]) -> tuple[int, ...]:
        """How many facts prompts have. `usual`: the task's own numbers, which hold if the recipe gives none."""
        if self.count is None:
            return usual
        return (self.count,) if isinstance(self.count, int) else self.count

    def own_names(self, language: str) -> tuple[str, ...]:
        """The names of a language. Raises RecipeError if there is no file, or no names in it."""
        if self.names is None:
            raise RecipeError(["options.names: expected the path of NeedleBench's names.json (docs/published.md)"])
        return read_names(own_file(self.names), language)

    def own_needles(self) -> tuple[NeedleLine, ...]:
        """The needles of both languages. Raises RecipeError if there is no file, or no needles in it."""
        if self.needles is None:
            raise RecipeError(["options.needles: expected the path of NeedleBench's needles.jsonl (docs/published.md)"])
        return read_needles(own_file(self.needles))

    def notes(self, what: str) -> tuple[str, ...]:
        """A note if a file is not the published one. `what`: `names.json` or `needles.jsonl`."""
        spec = self.names if what == "names.json" else self.needles
        if spec is None or is_published(own_file(spec), what):
            return ()
        return (
            f"{what} is not NeedleBench's published file: prompts follow its rules, but differ from the published ones",
        )


class _Files:
    """The user's files, each read once by a process."""

    def __init__(self, options: NeedleBenchOptions) -> None:
        self.needles = cache(options.own_needles)
        self.names = cache(options.own_names)
        self.notes = cache(options.notes)


class _Haystacks:
    """Fills OpenCompass's haystacks, and encodes needles."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._fillers = {name: OpenCompassFiller(corpus, bench.tokenizer) for name, corpus in bench.corpora.items()}
        self._encoded = lru_cache(maxsize=256)(lambda text: encode(text, bench.tokenizer))

    def needles(self, texts: Sequence[str]) -> list[Encoded]:
        return [self._encoded(text) for text in texts]

    def filled(self, cell: Cell, needles: Sequence[Encoded]) -> Haystack:
        """length - buffer - needle tokens of the corpus, in the repeat's order; none if that is negative."""
        buffer = self._bench.options.buffer
        taken = (_BUFFERS[cell.language] if buffer is None else buffer) + sum(needle.size for needle in needles)
        return self._fillers[cell.corpus].taken(cell.repeat, max(cell.length - taken, 0))


def _single(bench: Workbench) -> Callable[[Cell], Replayed]:
    options: NeedleBenchOptions = bench.options
    files, haystacks = _Files(options), _Haystacks(bench)

    def make(cell: Cell) -> Replayed:
        line = single_needle(files.needles(), cell.language, cell.repeat)
        text = _on_lines(line.needle)
        needles = haystacks.needles([text])
        haystack = haystacks.filled(cell, needles)
        item = Item(
            cell.draw, cell.language, line.question, (text,), ((line.keyword,),), "needlebench_v2", (text,),
            keyword_kinds=("text",),
        )  # fmt: skip
        template = prompts()[cell.language][f"single_{options.position}"]
        context = place(haystack, needles, DepthTargets(cell.depth or 0.0, bench.diff), bench.tokenizer)
        return _prompt(item, template, {"retrieval_question": line.question}, haystack, context, files, cell)

    return make


def _retrieval(bench: Workbench) -> Callable[[Cell], Replayed]:
    options: NeedleBenchOptions = bench.options
    files, haystacks = _Files(options), _Haystacks(bench)

    def make(cell: Cell) -> Replayed:
        lines = parallel_needles(files.needles(), cell.language, cell.repeat, len(bench.depths))
        texts = tuple(_on_lines(line.needle) for line in lines)
        needles = haystacks.needles(texts)
        haystack = haystacks.filled(cell, needles)
        question = parallel_question(lines, cell.language)
        keywords = tuple(line.keyword for line in lines)
        item = Item(
            cell.draw, cell.language, question, ("、".join(keywords),), tuple((word,) for word in keywords),
            "needlebench_parallel", texts, keyword_kinds=("text",) * len(keywords),
        )  # fmt: skip
        template = prompts()[cell.language][f"parallel_{options.position}"]
        context = place_at_once(haystack, needles, bench.depths)
        return _prompt(item, template, {"retrieval_question": question}, haystack, context, files, cell)

    return make


def place_at_once(haystack: Haystack, needles: Sequence[Encoded], depths: Sequence[float]) -> Spliced:
    """Each needle at its own depth, the least first; the tokens of earlier needles are added to its place."""
    ranges = [TokenRange(haystack.source, 0, haystack.tokens)]
    added = 0
    for number, (needle, depth) in enumerate(zip(needles, depths, strict=True)):
        ranges = insert(
            ranges, int(haystack.tokens * (depth / 100)) + added, TokenRange(needle, 0, needle.size, number)
        )
        added += needle.size
    return spliced(ranges, len(needles))


def _reasoning(bench: Workbench) -> Callable[[Cell], Replayed]:
    files, haystacks = _Files(bench.options), _Haystacks(bench)

    def make(cell: Cell) -> Replayed:
        line = reasoning_ancestry(files.names(cell.language), cell.language, cell.repeat, _count_of(cell))
        texts = tuple(map(_on_lines, line.facts))
        needles = haystacks.needles(texts)
        haystack = haystacks.filled(cell, needles)
        known = prompts()[cell.language]
        asked = {"last_person": line.people[-1]}
        question = fill(known["reasoning_question"], asked)
        item = _boxed(cell, question, line.people[0], texts)
        context = place(haystack, needles, DepthTargets(cell.depth or 0.0, bench.diff), bench.tokenizer)
        values = {**asked, "retrieval_question": question}
        return _prompt(item, known["reasoning_end"], values, haystack, context, files, cell)

    return make


def _atc(bench: Workbench) -> Callable[[Cell], Replayed]:
    files = _Files(bench.options)

    def make(cell: Cell) -> Replayed:
        kind = cell.needle.partition("-")[0]
        asked = atc_asked(files.names(cell.language), cell.language, kind, cell.repeat, _count_of(cell))
        facts = asked.ancestry.facts
        before, _, after = asked.prompt.partition("".join(facts))
        pieces = (Piece(before), *(Piece(fact, number) for number, fact in enumerate(facts)), Piece(after))
        item = _boxed(cell, asked.question, asked.answer, facts)
        # There is no haystack, so nothing of one precedes a fact.
        depths = (0.0,) * len(facts)
        context = Context((PromptMessage(None, pieces),), None, 0, depths, notes=files.notes("names.json"))
        return Replayed(item, context)

    return make


def _on_lines(text: str) -> str:
    """A needle as it is inserted, between two line ends."""
    return f"\n{text}\n"


def _count_of(cell: Cell) -> int:
    return int(cell.needle.rpartition("-")[2])


def _boxed(cell: Cell, question: str, answer: str, needles: tuple[str, ...]) -> Item:
    kinds = () if answer.isdecimal() else ("text",)
    return Item(
        cell.draw, cell.language, question, (answer,), ((answer,),), "needlebench_boxed", needles, keyword_kinds=kinds
    )


def _prompt(
    item: Item, template: str, values: Mapping[str, str], haystack: Haystack, placed: Spliced,
    files: _Files, cell: Cell,
) -> Replayed:  # fmt: skip
    before, after = (fill(part, values) for part in template.split(_CONTEXT))
    pieces = [piece for piece in (Piece(before), *placed.pieces, Piece(after)) if piece.content]
    what = "names.json" if item.metric == "needlebench_boxed" else "needles.jsonl"
    context = Context(
        turns=(PromptMessage(None, tuple(pieces)),),
        haystack_id=haystack.id,
        haystack_tokens=haystack.tokens,
        needle_depths=tuple(100 * tokens / max(1, haystack.tokens) for tokens in placed.tokens_before),
        haystack_passes=haystack.passes,
        boundary="token",
        leak=haystack.leak(item.keywords),
        notes=(*files.notes(what), *_ends_early(haystack, cell)),
    )
    return Replayed(item, context)


def _ends_early(haystack: Haystack, cell: Cell) -> Iterator[str]:
    if not haystack.tokens:
        yield f"length {cell.length} minus buffer and needles leaves no haystack; options.buffer sets the buffer"
    elif haystack.end == len(haystack.source.data):
        yield f"{cell.corpus} ends early: length {cell.length} holds {haystack.tokens} tokens of filler"


def _one(name: str) -> Callable[[Settings, str], Sequence[str]]:
    return lambda settings, language: [name] if language in LANGUAGES else []


def _reasoning_ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"facts-{count}" for count in settings.options.counts(_REASONING_COUNTS) if language in LANGUAGES]


def _atc_ids(settings: Settings, language: str) -> Sequence[str]:
    counts = settings.options.counts(_ATC_COUNTS) if language in LANGUAGES else ()
    return [f"{kind}-{count}" for count in counts for kind in ATC_KINDS]


def _retrieval_rows(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """One row for each length and repeat, since one prompt has all depths."""
    for length in axes.lengths:
        for repeat in range(axes.repeats):
            yield Coordinates(length, "parallel", repeat)


def _atc_rows(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """A row for each number of facts, question kind and repeat, in the published order, without a length or a depth."""
    for needle in _atc_ids(settings, language):
        for repeat in range(axes.repeats):
            yield Coordinates(0, needle, repeat)


@dataclass(frozen=True, slots=True)
class AskedAtTheEnd(NeedleBenchOptions):
    """The [options] of tasks whose prompts have one form."""

    def __post_init__(self) -> None:
        NeedleBenchOptions.__post_init__(self)
        if self.position != "end":
            raise ValueError("position is 'start', but only the single and retrieval tasks can ask there")


SINGLE = Task(
    "needlebench2-single", 1, _one("single"), Replay(_single), NeedleBenchOptions
)  # fmt: skip
RETRIEVAL = Task(
    "needlebench2-retrieval", 1, _one("parallel"), Replay(_retrieval), NeedleBenchOptions,
    coordinates=_retrieval_rows
)  # fmt: skip
REASONING = Task(
    "needlebench2-reasoning", 1, _reasoning_ids, Replay(_reasoning), AskedAtTheEnd
)  # fmt: skip
ATC = Task(
    "needlebench2-atc", 1, _atc_ids, Replay(_atc, "relatives"), AskedAtTheEnd, coordinates=_atc_rows
)  # fmt: skip
