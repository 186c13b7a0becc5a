"""Defines the recipe: what a user asks for, with every field resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_gen.fields import Fields, Parser, one_of, parse_boolean
from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.prompts.templates import POSITIONS, Template, own_templates, template_family, template_for, with_system
from niah_gen.recipe import values
from niah_gen.tasks.needle_library import Needle
from niah_score.contract import PromptForm, sha256_hex
from niah_score.text.language import ALWAYS_READ

# A corpus up to this size is read whole: bytes of text, and some more for each document.
CORPUS_WHOLE = 64 * 1024 * 1024
_MOST_BYTES = 2**50
_PRESETS = Path(__file__).parents[1] / "library" / "presets"


def preset_names() -> list[str]:
    """Names of the recipes that come with the package, sorted."""
    return sorted(file.stem for file in _PRESETS.glob("*.toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset. Raises RecipeError for an unknown name."""
    if name not in preset_names():
        raise RecipeError([f"preset {name!r} does not exist{suggestion(name, preset_names())}"])
    return (_PRESETS / f"{name}.toml").read_text("utf-8")


def _read(parse: Parser[Any], default: Any, *, late: bool = False) -> Any:
    """A field that a recipe states on its own: how its value is read, and the value if it is left out.

    late: a table leaves the field out at that value, so that recipes that do not use it keep their digests.
    """
    return field(default=default, metadata={"parse": parse, "late": late})


def stated(kind: type, table: Fields) -> dict[str, Any]:
    """The values of the fields of a Part or Recipe that a table states on their own, by name."""
    read = {one.name: one for one in fields(kind) if "parse" in one.metadata}
    return {name: table.take(name, one.metadata["parse"], one.default) for name, one in read.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
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
    guide: bool = _read(parse_boolean, True)
    question_position: str = _read(one_of(POSITIONS), "end")
    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    repeats: int = _read(values.whole(1, 100_000), 1)
    reserve: int = _read(values.whole(0, 1_000_000), 200)
    seed: int = _read(values.whole(0, 2**31 - 1), 0)
    max_new_tokens: int = _read(values.whole(1, 1_000_000), 200)
    diff: float = _read(values.parse_percent, 25.0)
    spread: str | tuple[float, ...]
    boundary: str
    leaks: str
    fresh_haystacks: bool = _read(parse_boolean, False)
    corpora: tuple[str, ...]
    needles: tuple[Needle, ...]
    options: Mapping[str, Any]
    controls: tuple[str, ...] = _read(values.maybe_none(values.parse_names), (), late=True)
    control_depths: tuple[float, ...] = _read(values.maybe_none(values.parse_depths), (), late=True)
    needles_per_cell: int = _read(values.whole(0, 100_000), 0, late=True)
    system: str = _read(values.parse_system, "", late=True)
    templates: Mapping[str, Any]
    name: str | None
    weight: float = _read(values.parse_weight, 1.0)
    question_language: str = _read(values.parse_question_language, "", late=True)

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
        template = template_for(self.template, self.question_language or language, own_templates(self.templates, []))
        return with_system(template, self.system) if template and self.system else template

    def template_family(self, language: str | None = None) -> dict[str, object]:
        """What the template's name means in prompts over texts of a language, for the digests of their rows.

        Without a language: in all languages of the part. English and Chinese always go together.
        """
        asked = self.question_language or language
        languages = self.languages if language is None else ALWAYS_READ if asked in ALWAYS_READ else (str(asked),)
        return template_family(self.template, own_templates(self.templates, []), languages)

    def placed_depths(self) -> tuple[float, ...]:
        """The depths that rows are made for, in percent."""
        return self.placing.depths(self.depths)

    def table(self) -> dict[str, object]:
        """The part as TOML values, without its name and weight."""
        table = _table(self)
        del table["name"], table["weight"]
        return {name: value for name, value in table.items() if value or name not in ("options", "templates")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A resolved recipe: every field has its value, schedules are lists, needles are whole.

    `parts`: what the rows are made of; one without a name, unless the recipe lists several. `languages`: empty for all
    that the corpora have. `pins`: sha256 of the tokenizer and the corpora, by name, that a resolved recipe was built
    with; a different corpus of that name is refused. `corpus_whole`: the bytes up to which a corpus is read whole;
    `corpus_draw`: how many are drawn from a larger one, 0 for as many as `rows.corpora.draw_size` says. A resolved
    recipe has both if they mattered. `allow_repeats`: whether a corpus may be used more than once to fill a length. It
    changes no row, so no digest.
    """

    name: str = _read(values.parse_slug, "dataset")
    version: str = _read(values.parse_version, "1.0.0")
    tokenizer: str
    form: PromptForm
    languages: tuple[str, ...] = _read(values.maybe_none(values.parse_languages), ())
    parts: tuple[Part, ...]
    pins: tuple[tuple[str, str], ...] = _read(values.parse_pins, (), late=True)
    corpus_whole: int = _read(values.whole(0, _MOST_BYTES), CORPUS_WHOLE, late=True)
    corpus_draw: int = _read(values.whole(0, _MOST_BYTES), 0, late=True)
    allow_repeats: bool = _read(parse_boolean, False, late=True)

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
        table = {**_table(self), **shared}
        del table["parts"]
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


def _table(record: Part | Recipe) -> dict[str, Any]:
    """The fields of a part or recipe as TOML values."""
    given = [one for one in fields(record) if not one.metadata.get("late") or getattr(record, one.name) != one.default]
    return {one.name: _plain(getattr(record, one.name)) for one in given}


def _plain(value: Any) -> Any:
    """A field as a TOML value."""
    if isinstance(value, tuple):
        return [int(item) if isinstance(item, float) and item.is_integer() else _plain(item) for item in value]
    if isinstance(value, Needle | Part):
        return value.table()
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value
