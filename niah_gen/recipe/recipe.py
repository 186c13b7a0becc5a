"""Defines the recipe: what a user asks for, with every field resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.prompts.own_templates import own_templates, with_system
from niah_gen.prompts.templates import Template, template_family, template_for
from niah_gen.tasks.needle_library import Needle
from niah_score.contract import PromptForm, sha256_hex
from niah_score.text.language import ALWAYS_READ

# Fields that a table leaves out if they are empty, so that recipes that do not use them keep their digests.
_OMITTED_IF_EMPTY = (
    "options", "controls", "control_depths", "needles_per_cell", "system", "templates", "question_language",
)  # fmt: skip

# A corpus up to this size is read whole: bytes of text, and some more for each document.
CORPUS_WHOLE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """What the rows of a dataset, or of one of its parts, are made of.

    `task`: the name of a family, or `module:NAME`; `options`: that family's own, as TOML values; `controls`: the
    twins to make of each row, at `control_depths` (empty: at all depths). `lengths` and `reserve` are in tokens,
    `depths` and `diff` in percent. `needles_per_cell`: how many of a language's needles each cell of the grid has; 0
    for all. `spread`: how a set's needles are spread: even, diff (`diff` apart), random, apart, or the depth of each.
    `boundary`: where native needles may stand. `leaks`: what native does about documents that hold a keyword.
    `fresh_haystacks`: gives every native row its own filler. `system`: a chat's system message, empty for the
    template's. `templates`: the user's own, as TOML tables. `name`: None if the recipe has no parts. `weight`: of the
    part's mean in the headline of a score. `question_language`: empty for the language of the texts.
    """

    task: str
    placement: str
    template: str
    guide: bool
    question_position: str
    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    repeats: int
    reserve: int
    seed: int
    max_new_tokens: int
    diff: float
    spread: str | tuple[float, ...]
    boundary: str
    leaks: str
    fresh_haystacks: bool
    corpora: tuple[str, ...]
    needles: tuple[Needle, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    controls: tuple[str, ...] = ()
    control_depths: tuple[float, ...] = ()
    needles_per_cell: int = 0
    system: str = ""
    templates: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    weight: float = 1.0
    question_language: str = ""

    @property
    def placing(self) -> Placement:
        """The placement that the part names."""
        return PLACEMENTS[self.placement]

    @property
    def own_seed(self) -> int:
        """The seed of the part's rows: the recipe's, or for a named part one derived from it."""
        if self.name is None:
            return self.seed
        return int(sha256_hex(f"{self.seed}/{self.name}".encode())[:8], 16) >> 1

    @property
    def languages(self) -> tuple[str, ...]:
        """English, Chinese, and the other languages of its needles and questions."""
        others = {self.question_language, *(needle.language for needle in self.needles)} - {"", *ALWAYS_READ}
        return (*ALWAYS_READ, *sorted(others))

    def template_in(self, language: str) -> Template | None:
        """The template of prompts over texts in a language; None if there is none."""
        asked = self.question_language or language
        template = template_for(self.template, asked, own_templates(self.templates))
        return with_system(template, self.system) if template and self.system else template

    def template_family(self, language: str | None = None) -> dict[str, object]:
        """What the template's name means in prompts over texts of a language, for the digests of their rows.

        Without a language: in all languages of the part. English and Chinese always go together.
        """
        own = own_templates(self.templates)
        if language is not None:
            asked = self.question_language or language
            return template_family(self.template, own, ALWAYS_READ if asked in ALWAYS_READ else (asked,))
        return template_family(self.template, own, self.languages)

    def placed_depths(self) -> tuple[float, ...]:
        """The depths that rows are made for, in percent."""
        return self.placing.depths(self.depths)

    def table(self) -> dict[str, object]:
        """The part as TOML values, without its name and weight."""
        table: dict[str, object] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            table[item.name] = list(value) if isinstance(value, tuple) else value
        table["depths"] = _plain(self.depths)
        table["control_depths"] = _plain(self.control_depths)
        if not isinstance(self.spread, str):
            table["spread"] = _plain(self.spread)
        table["needles"] = [needle.table() for needle in self.needles]
        table["options"] = dict(sorted(self.options.items()))
        table["templates"] = dict(sorted(self.templates.items()))
        for name in _OMITTED_IF_EMPTY:
            if not table[name]:
                del table[name]
        del table["name"], table["weight"]
        return table


@dataclass(frozen=True, slots=True)
class Recipe:
    """A resolved recipe: every field has its value, schedules are lists, needles are whole.

    `parts`: what the rows are made of; one without a name, unless the recipe lists several. `languages`: empty for all
    that the corpora have. `pins`: sha256 of the tokenizer and the corpora, by name, that a resolved recipe was built
    with; a different corpus of that name is refused. `corpus_whole`: the bytes up to which a corpus is read whole;
    `corpus_draw`: how many are drawn from a larger one, 0 for as many as `rows.corpora.draw_size` says. A resolved
    recipe has both if they mattered. `allow_repeats`: whether a corpus may be used more than once to fill a length. It
    changes no row, so no digest.
    """

    name: str
    version: str
    tokenizer: str
    form: PromptForm
    languages: tuple[str, ...]
    parts: tuple[Part, ...]
    pins: tuple[tuple[str, str], ...] = ()
    corpus_whole: int = CORPUS_WHOLE
    corpus_draw: int = 0
    allow_repeats: bool = False

    @property
    def has_parts(self) -> bool:
        """Whether rows say which part they belong to."""
        return self.parts[0].name is not None

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of all parts, in tokens, ascending."""
        return tuple(sorted({length for part in self.parts for length in part.lengths}))

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora of all parts, in their order."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.corpora))

    def table(self) -> dict[str, object]:
        """The recipe as TOML values, which read back as the same recipe. Fields that all parts share are given once."""
        parts = [part.table() for part in self.parts]
        shared = {name: value for name, value in parts[0].items() if all(value == part.get(name) for part in parts)}
        table: dict[str, object] = {
            "name": self.name, "version": self.version, "tokenizer": self.tokenizer, "form": self.form,
            "languages": list(self.languages), **shared,
        }  # fmt: skip
        if self.corpus_whole != CORPUS_WHOLE:
            table["corpus_whole"] = self.corpus_whole
        if self.corpus_draw:
            table["corpus_draw"] = self.corpus_draw
        if self.allow_repeats:
            table["allow_repeats"] = True
        if self.pins:
            table["pins"] = dict(self.pins)
        if self.has_parts:
            table["parts"] = [
                {"name": part.name, "weight": part.weight}
                | {name: value for name, value in own.items() if name not in shared}
                for part, own in zip(self.parts, parts, strict=True)
            ]
        return table

    def to_toml(self) -> bytes:
        """recipe.toml of a dataset folder."""
        import tomli_w

        head = "# The resolved recipe: `niah-gen build recipe.toml` gives the same rows.\n"
        return (head + tomli_w.dumps(self.table())).encode()


def _plain(numbers: Sequence[float]) -> list[float]:
    return [int(number) if number == int(number) else number for number in numbers]
