"""Defines what task families take and make: cells, items, settings and contexts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from niah_gen.corpora.read import Corpus
from niah_gen.haystacks.haystack import Filler
from niah_gen.haystacks.placement import Placement
from niah_gen.prompts.frame import Frame, PromptMessage
from niah_gen.tasks.needle_library import Needle
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import PromptForm, Span, config_name, draw_name
from niah_score.text import group_of


class Cell(NamedTuple):
    """The coordinates of one row in the grid. `length`: in tokens, 0 if rows have none.

    `depth`: in percent, None if none is asked for. `needle`: the item's id. `control`: the name of the control whose
    twin the row is; None for the item itself. `part`: the recipe's part that the row belongs to; None if it has none.
    `question`: the number, from 0, of its question among those that are asked over one context.
    """

    language: str
    corpus: str
    length: int
    needle: str
    repeat: int
    depth: float | None
    control: str | None = None
    part: str | None = None
    question: int = 0

    @property
    def config(self) -> str:
        """The config that the row belongs to."""
        return config_name(self.language, self.length)

    @property
    def draw(self) -> str:
        """The id of an item that every length and repeat draws anew: intervals count each draw as a separate needle."""
        return draw_name(self.needle, self.length, self.repeat)


def cell_seed(seed: int, cell: Cell) -> int:
    """A row's seed: 63 bits of sha256 over the recipe's seed and the coordinates without depth and control."""
    coordinates = f"{seed}/{cell.corpus}/{cell.length}/{cell.needle}/{cell.repeat}"
    return int.from_bytes(hashlib.sha256(coordinates.encode()).digest()[:8], "big") >> 1


class GridAxes(NamedTuple):
    """The axes of a recipe: lengths in tokens, depths in percent, and the number of repeats."""

    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    repeats: int


class Coordinates(NamedTuple):
    """One row of a family that lists its rows. `length`: in tokens, 0 if rows have none.

    `needle`: the item's id. `depth`: in percent, None if none is asked for. `question`: its number among those
    of the item that are asked over one context.
    """

    length: int
    needle: str
    repeat: int = 0
    depth: float | None = None
    question: int = 0


class Item(NamedTuple):
    """The truth of a cell, the same at every depth: what is asked, what counts as the answer, what is hidden.

    `id`: the cell's `needle` if every row asks for the same one, its `draw` if each length and repeat draws its own.
    `answers`: accepted answers, the first is the reference. `keywords`: every group must be found, any member of a
    group counts. `keyword_kinds` and `rejects`: for each group, the kind of value that it states and what voids a match
    that it touches; if empty, the spellings decide the kind and nothing is rejected. `decoys`: the facts of
    distractors, each a group of spellings. `hide`: the texts to hide, those asked for first; the last `distractors` of
    them are not needles. `sets`: sizes of the sets of texts in `hide` that belong together: the first is placed by the
    recipe's `spread`, each other one in the same way from its own seeded depth; empty if all texts are one set.
    `answer_prefix`: what an answer must begin with. `max_new_tokens`: a sensible output limit; None for the recipe's.
    `literal`, `conflict`: for the controls of that name, the question in the needle's own words, and a text that says
    otherwise with the spellings of its value. `opening`: what the prompt says before the context, if the template has a
    place for it. `question_language`: empty if it is the item's.
    `asks`: for items with several questions over one context, the item of each: this one is what the context is filled
    for. `depths`: of the texts, in percent, in place of the recipe's `spread`. `world`, `chance`: for those columns.
    """

    id: str
    language: str
    question: str | None
    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    metric: str
    hide: tuple[str, ...] = ()
    answer_prefix: str | None = None
    max_new_tokens: int | None = None
    keyword_kinds: tuple[str, ...] = ()
    rejects: tuple[tuple[str, ...], ...] = ()
    decoys: tuple[tuple[str, ...], ...] = ()
    distractors: int = 0
    literal: str | None = None
    conflict: tuple[str, tuple[str, ...]] | None = None
    sets: tuple[int, ...] = ()
    opening: str = ""
    question_language: str = ""
    asks: tuple[Item, ...] = ()
    depths: tuple[float, ...] = ()
    world: str | None = None
    chance: float | None = None

    @property
    def asked_in(self) -> str | None:
        """The language of the question; None if there is no question."""
        return None if self.question is None else self.question_language or self.language

    @property
    def kinds(self) -> list[str]:
        """The kind of each keyword group, as the row states it."""
        return list(self.keyword_kinds) or [group_of(group).kind for group in self.keywords]

    @property
    def rejected(self) -> list[list[str]]:
        """What voids a match of each keyword group, as the row states it."""
        return [list(words) for words in self.rejects] or [[] for _ in self.keywords]


class Settings(NamedTuple):
    """What a task family sees of a recipe. `options`: an instance of the family's options.

    `needles`: the recipe's, for families that hide them. `any_language`: whether needles go into corpora of every
    language. `question_language`: the language of their questions; empty for each needle's own.
    """

    options: Any
    needles: tuple[Needle, ...] = ()
    seed: int = 0
    any_language: bool = False
    question_language: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What a prompt asks about, and the figures that its row records of it.

    `turns`: one message without a role, or the messages of a conversation; `needle_turn`: which of them holds the
    needles. `haystack_id`: a digest of the filler. `needle_depths`: haystack tokens before each needle, in percent of
    all. `leak`: keywords that the filler already holds. `target_span`: in code points of the turn. `notes`: what the
    user should know, a sentence each.
    """

    turns: tuple[PromptMessage, ...]
    haystack_id: str | None
    haystack_tokens: int
    needle_depths: tuple[float, ...] = ()
    haystack_passes: float = 1.0
    boundary: str | None = None
    leak: str | None = None
    target_span: Span | None = None
    needle_turn: int = 0
    notes: tuple[str, ...] = ()


# The context of a row whose prompt is the question alone.
WITHOUT_CONTEXT = Context((), None, 0)


class Replayed(NamedTuple):
    """A prompt that a published rule made whole, and its truth. `context.turns` are all messages of the prompt."""

    item: Item
    context: Context


@dataclass(frozen=True)
class Workbench:
    """What one process makes contexts with. `fillers`: by corpus. `longest`: the recipe's greatest length, in tokens.

    For families that read or replay them, `corpora`: the documents themselves; `depths`: the rows' depths, in percent.
    The rest are fields of the recipe.
    """

    tokenizer: Tokenizer
    placement: Placement
    fillers: Mapping[str, Filler]
    longest: int
    reserve: int
    seed: int
    spread: str | tuple[float, ...] = "even"
    diff: float = 25.0
    boundary: str = "sentence"
    fresh_haystacks: bool = False
    options: Any = None
    corpora: Mapping[str, Corpus] = field(default_factory=dict)
    depths: tuple[float, ...] = ()
    form: PromptForm = "text"


class ContextMaker(Protocol):
    """Makes the contexts of one process; may keep what consecutive cells share."""

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        """The context of a cell: filled for `item`, and hiding what `shown` hides (the item, or its control's twin).

        `frame`: the prompt around the context, with the item's question. Raises FitError if the length cannot hold it.
        """
