"""Replays NeedleBench v2: single-needle retrieval, multi-needle retrieval, reasoning, the Ancestral Trace Challenge.

Whole prompts are built as in opencompass/datasets/needlebench_v2, from two files of the data set
`opencompass/NeedleBench` (MIT) that a user brings: names.json and needles.jsonl. Haystacks and the places of needles
are those of OpenCompass's CDME, except in multi-needle retrieval, where one prompt has a needle at every depth of the
recipe. Comments give the seed that the published code sets for Python's global generator, which is not touched here.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise, product, starmap
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError
from niah_gen.haystacks.haystack import Haystack, needle_tokens
from niah_gen.haystacks.opencompass import OpenCompassFiller, place
from niah_gen.haystacks.placement import DepthTargets, Laid, TokenRange, between_tokens, insert
from niah_gen.prompts.frame import PromptMessage, said
from niah_gen.tasks.base import LANGUAGES, Replay, Task
from niah_gen.tasks.options import OwnFile, check_options, own_file
from niah_gen.tasks.published.files import field, json_lines, json_of, read_once, wrong
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import file_sha256

_FOLDER = Path(__file__).parents[2] / "library" / "needlebench"
# The sha256 of the published files; other files give other prompts.
_PUBLISHED = {
    "names": "07f02b1687fbdbfb59d9ed5ff31ff5939aadc2ef7e14715af81142e38b25a98a",
    "needles": "b7aee75f89d08a2b830b0392acb849bcbcd57ce53806d22d43f81c60e1746101",
}
_FILES = {"names": "names.json", "needles": "needles.jsonl"}
_LANGUAGES = {"en": "English", "zh": "Chinese"}
_NEEDLE_FIELDS = ("needle", "retrieval_question", "arg1", "arg2", "language")
# The buffers of the published set up to 4k; the longer sets have 3000 in English.
_BUFFERS = {"en": 500, "zh": 200}
_REASONING_COUNTS = (2, 3, 4, 5)
_ATC_COUNTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
# The question kinds of the Ancestral Trace Challenge in the published order; the seeds depend on it.
ATC_KINDS = ("eldest", "ancestor", "descendant", "distance")
_MOST_FACTS = 10_000
_QUOTED = re.compile(r"'([^']*)'")
_FIELD = re.compile(r"\{([a-z_]+)\}")

# A line of needles.jsonl.
Line = Mapping[str, str]


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
        check_options(self, position=("end", "start"))

    def counts(self, usual: tuple[int, ...]) -> tuple[int, ...]:
        """How many facts prompts have. `usual`: the task's own numbers, which hold if the recipe gives none."""
        if self.count is None:
            return usual
        return (self.count,) if isinstance(self.count, int) else self.count

    def file(self, option: str) -> OwnFile:
        """One of the user's two files. Raises RecipeError if the recipe names none."""
        file: OwnFile | None = getattr(self, option)
        if file is None:
            what = f"expected the path of NeedleBench's {_FILES[option]} (docs/published.md)"
            raise RecipeError([f"options.{option}: {what}"])
        return file

    def people(self, language: str) -> list[str]:
        """The names of a language, in the order of names.json."""
        return read_names(own_file(self.file("names")), language)

    def lines(self) -> list[Line]:
        """The needles of both languages, in the order of needles.jsonl."""
        return read_needles(own_file(self.file("needles")))

    def notes(self, option: str) -> tuple[str, ...]:
        """A note if one of the two files is not the published one."""
        if _is_published(own_file(self.file(option)), option):
            return ()
        return (
            f"{_FILES[option]} is not NeedleBench's published file: prompts follow its rules, but differ from the "
            "published ones",
        )


@read_once
def _is_published(path: Path, option: str) -> bool:
    return file_sha256(path) == _PUBLISHED[option]


@read_once
def read_names(path: Path, language: str) -> list[str]:
    """The names of a language in the order of names.json. Raises RecipeError if the file has none."""
    where = f"options.names: {path.name}"
    names: str = field(json_of(path.read_bytes(), where), _LANGUAGES[language], "a text", where)
    return names.split(",")


@read_once
def read_needles(path: Path) -> list[Line]:
    """All lines of needles.jsonl, of both languages, in order. Raises RecipeError with the line that is wrong.

    `needle`: a fact about `arg1`; `retrieval_question` asks for `arg2`.
    """
    lines: list[Line] = []
    for read, where in json_lines(path, "needles"):
        lines.append({name: field(read, name, "a text", where) for name in _NEEDLE_FIELDS})
        if lines[-1]["language"] not in _LANGUAGES.values():
            raise wrong(where, "language", lines[-1]["language"], "English or Chinese")
    return lines


@lru_cache(maxsize=2)
def library(name: str) -> Mapping[str, Any]:
    """By language, the published `prompts`, or the terms and sentences of `kinship`."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))


def parallel_needles(lines: Sequence[Line], language: str, repeat: int, count: int) -> list[Line]:
    """The needles of a repeat by ascending depth: the same ones in every repeat, in different orders.

    The published choice is unseeded; here it is the one after seed 0: all lines of both languages are shuffled, and the
    first ones of the language are taken whose subjects and keywords all differ. Seed of the order: the repeat.
    Raises RecipeError if there are too few.
    """
    chosen: list[Line] = []
    shuffled = list(lines)
    random.Random(0).shuffle(shuffled)
    for line in shuffled:
        own = line["language"] == _LANGUAGES[language]
        if own and all(line[name] != known[name] for known in chosen for name in ("arg1", "arg2")):
            chosen.append(line)
    if len(chosen) < count:
        raise RecipeError(
            [f"options.needles: {len(chosen)} {language!r} lines differ in arg1 and arg2, too few for {count} depths"]
        )
    del chosen[count:]
    random.Random(repeat).shuffle(chosen)
    return chosen


def parallel_question(questions: Sequence[str], language: str) -> str:
    """All questions in one, then the form of the answers; as published, no space comes between the two in English."""
    mark, end = ("？", "。") if language == "zh" else ("?", ".")
    asked = "、".join(question.split(mark)[0] + mark for question in questions)
    quoted = map(_QUOTED.search, questions)
    form = "、".join(match[1].split(end)[0] for match in quoted if match)
    if language == "zh":
        return f"{asked}请按照'{form}'的格式回答。"
    return f"{asked}Please answer in the format of '{form}'"


def ancestry(draw: random.Random, names: Sequence[str], count: int, language: str) -> tuple[list[str], list[str], int]:
    """A line of `count` links: the people, the eldest first, a fact for each link, shuffled, and the generations.

    Draws the people, then a sentence and a term for each link, then the order of the facts. Raises RecipeError if there
    are too few names.
    """
    if len(names) < count + 1:
        raise RecipeError([f"options.count: {count} facts need {count + 1} names; options.names has {len(names)}"])
    known = library("kinship")[language]
    near, far = known["one_generation"], known["two_generations"]
    people = draw.sample(names, count + 1)
    facts: list[str] = []
    generations = 0
    for elder, younger in pairwise(people):
        sentence = draw.choice(known["sentences"])
        term = draw.choice([*near, *far])
        facts.append(sentence.format(A=elder, B=younger, relationship=term))
        generations += 1 if term in near else 2
    draw.shuffle(facts)
    return people, facts, generations


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its fields filled in; LaTeX's braces, and those in the values, stay as they are."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)


def _single(cell: Cell, bench: Workbench) -> tuple[Item, str, dict[str, str]]:
    """The item of a row, the name of its template, and the values of that."""
    options: NeedleBenchOptions = bench.options
    own = [line for line in options.lines() if line["language"] == _LANGUAGES[cell.language]]
    if not own:
        raise RecipeError([f"options.needles: no line is in {cell.language!r}"])
    line = random.Random(cell.repeat).choice(own)  # seed: the repeat
    text, question = _on_lines(line["needle"]), line["retrieval_question"]
    item = Item(
        cell.draw, cell.language, question, (text,), ((line["arg2"],),), "needlebench_v2", (text,),
        keyword_kinds=("text",),
    )  # fmt: skip
    return item, f"single_{options.position}", {"retrieval_question": question}


def _retrieval(cell: Cell, bench: Workbench) -> tuple[Item, str, dict[str, str]]:
    options: NeedleBenchOptions = bench.options
    lines = parallel_needles(options.lines(), cell.language, cell.repeat, len(bench.depths))
    question = parallel_question([line["retrieval_question"] for line in lines], cell.language)
    keywords = tuple(line["arg2"] for line in lines)
    item = Item(
        cell.draw, cell.language, question, ("、".join(keywords),), tuple((word,) for word in keywords),
        "needlebench_parallel", tuple(_on_lines(line["needle"]) for line in lines),
        keyword_kinds=("text",) * len(keywords),
    )  # fmt: skip
    return item, f"parallel_{options.position}", {"retrieval_question": question}


def _reasoning(cell: Cell, bench: Workbench) -> tuple[Item, str, dict[str, str]]:
    names = bench.options.people(cell.language)
    people, facts, _ = ancestry(random.Random(cell.repeat), names, _count_of(cell), cell.language)  # seed: the repeat
    asked = {"last_person": people[-1]}
    question = fill(library("prompts")[cell.language]["reasoning_question"], asked)
    item = _boxed(cell, question, people[0], tuple(map(_on_lines, facts)))
    return item, "reasoning_end", {**asked, "retrieval_question": question}


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


def _in_haystack(
    ask: Callable[[Cell, Workbench], tuple[Item, str, dict[str, str]]], bench: Workbench
) -> Callable[[Cell], Replayed]:
    options: NeedleBenchOptions = bench.options
    fillers = {name: OpenCompassFiller(corpus, bench.tokenizer) for name, corpus in bench.corpora.items()}

    def make(cell: Cell) -> Replayed:
        item, template, values = ask(cell, bench)
        buffer = _BUFFERS[cell.language] if options.buffer is None else options.buffer
        taken = buffer + needle_tokens(item.hide, bench.tokenizer)
        haystack = fillers[cell.corpus].taken(cell.repeat, max(cell.length - taken, 0))
        if cell.depth is None:
            placed = place_at_once(haystack, item.hide, bench.depths, bench.tokenizer)
        else:
            placed = place(haystack, item.hide, DepthTargets(cell.depth, bench.diff), bench.tokenizer)
        parts = library("prompts")[cell.language][template].split("{context}")
        before, after = (fill(part, values) for part in parts)
        text = PromptMessage(None, haystack.source, haystack.end, placed.edits, placed.needles)
        context = Context(
            turns=(text.between(before, after),),
            haystack_id=haystack.id,
            haystack_tokens=haystack.tokens,
            needle_depths=tuple(100 * tokens / max(1, haystack.tokens) for tokens in placed.tokens_before),
            haystack_passes=haystack.passes,
            boundary="token",
            leak=haystack.leak(item.keywords),
            notes=(
                *options.notes("names" if item.metric == "needlebench_boxed" else "needles"),
                *_ends_early(haystack, cell),
            ),
        )
        return Replayed(item, context)

    return make


def place_at_once(haystack: Haystack, needles: Sequence[str], depths: Sequence[float], tokenizer: Tokenizer) -> Laid:
    """Each needle at its own depth, the least first; the tokens of earlier needles are added to its place."""
    encoded = [counted(needle, tokenizer) for needle in needles]
    ranges = [TokenRange(haystack.source, 0, haystack.tokens)]
    added = 0
    for number, (needle, depth) in enumerate(zip(encoded, depths, strict=True)):
        ranges = insert(
            ranges, int(haystack.tokens * (depth / 100)) + added, TokenRange(needle, 0, needle.size, number)
        )
        added += needle.size
    return between_tokens(haystack, ranges, encoded)


def _ends_early(haystack: Haystack, cell: Cell) -> Iterator[str]:
    if not haystack.tokens:
        yield f"length {cell.length} minus buffer and needles leaves no haystack; options.buffer sets the buffer"
    elif haystack.end == len(haystack.source.text):
        yield f"{cell.corpus} ends early: length {cell.length} holds {haystack.tokens} tokens of filler"


def _atc(bench: Workbench) -> Callable[[Cell], Replayed]:
    """Returns the maker of prompts of the Ancestral Trace Challenge.

    As published, facts are joined without a space, and English ordinals are 1th, 2th, 3th.
    """
    options: NeedleBenchOptions = bench.options

    def make(cell: Cell) -> Replayed:
        kind = cell.needle.partition("-")[0]
        # Seed: the repeat, counted from 1, plus 10,000 for each earlier kind.
        draw = random.Random(cell.repeat + 1 + 10_000 * ATC_KINDS.index(kind))
        people, facts, generations = ancestry(draw, options.people(cell.language), _count_of(cell), cell.language)
        eldest, youngest, steps = people[0], people[-1], str(generations)
        values = {
            "last_person": youngest, "person": eldest if kind == "descendant" else youngest, "person_a": eldest,
            "person_b": youngest, "n": steps,
        }  # fmt: skip
        template = library("prompts")[cell.language][f"atc_{kind}"]
        before, after = (fill(part, values) for part in template.split("{shuffled_story}"))
        question = fill(template.rstrip("\n").rpartition("\n")[2], values)
        answer = {"descendant": youngest, "distance": steps}.get(kind, eldest)
        starts = list(accumulate(map(len, facts[:-1]), initial=len(before)))
        turn = said(None, before + "".join(facts) + after, starts, facts)
        # There is no haystack, so nothing of one precedes a fact.
        context = Context((turn,), None, 0, (0.0,) * len(facts), notes=options.notes("names"))
        return Replayed(_boxed(cell, question, answer, tuple(facts)), context)

    return make


def _ids(names: Callable[[NeedleBenchOptions], list[str]]) -> Callable[[Settings, str], Sequence[str]]:
    return lambda settings, language: names(settings.options) if language in LANGUAGES else []


def _reasoning_names(options: NeedleBenchOptions) -> list[str]:
    return [f"facts-{count}" for count in options.counts(_REASONING_COUNTS)]


def _atc_names(options: NeedleBenchOptions) -> list[str]:
    return [f"{kind}-{count}" for count in options.counts(_ATC_COUNTS) for kind in ATC_KINDS]


def _retrieval_rows(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """One row for each length and repeat, since one prompt has all depths."""
    return starmap(Coordinates, product(axes.lengths, ["parallel"], range(axes.repeats)))


def _atc_rows(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """A row for each number of facts, question kind and repeat, in the published order, without a length or a depth."""
    return starmap(Coordinates, product([0], _atc_names(settings.options), range(axes.repeats)))


@dataclass(frozen=True, slots=True)
class AskedAtTheEnd(NeedleBenchOptions):
    """The [options] of tasks whose prompts have one form."""

    def __post_init__(self) -> None:
        NeedleBenchOptions.__post_init__(self)
        check_options(self, position=("end",))


SINGLE = Task(
    "needlebench2-single", 1, _ids(lambda options: ["single"]), Replay(partial(_in_haystack, _single)),
    NeedleBenchOptions,
)  # fmt: skip
RETRIEVAL = Task(
    "needlebench2-retrieval", 1, _ids(lambda options: ["parallel"]), Replay(partial(_in_haystack, _retrieval)),
    NeedleBenchOptions, coordinates=_retrieval_rows,
)  # fmt: skip
REASONING = Task(
    "needlebench2-reasoning", 1, _ids(_reasoning_names), Replay(partial(_in_haystack, _reasoning)), AskedAtTheEnd
)
ATC = Task("needlebench2-atc", 1, _ids(_atc_names), Replay(_atc, "relatives"), AskedAtTheEnd, coordinates=_atc_rows)
