"""Defines the recipe, what a user asks for with every field resolved, and how the value of each field is read."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_gen.fields import Fields, Parser, Value, WrongValueError, checked, one_of, parse_boolean
from niah_gen.haystacks.placement import SPREADS, Placement
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.prompts.templates import POSITIONS, Template, own_templates, template_family, template_for, with_system
from niah_gen.recipe import recipe as values
from niah_gen.tasks.needle_library import Needle
from niah_gen.tasks.registry import is_own
from niah_score.contract import PromptForm, sha256_hex
from niah_score.text.language import ALWAYS_READ, language_codes

_MOST_TOKENS = 2**31 - 1  # lengths are int32 columns
# The lengths of a recipe for rows without a length.
WITHOUT_LENGTH = (0,)
SPACINGS = ("linear", "sigmoid")
ROUNDINGS: dict[str, Callable[[float], float]] = {
    # Half to even, as numpy rounds.
    "nearest": lambda value: float(round(value)),
    "floor": lambda value: float(math.floor(value)),
    "none": lambda value: value,
}


def whole(low: int, high: int) -> Parser[int]:
    """Reads a whole number from `low` to `high`."""
    return checked(f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


def maybe_none(parse: Parser[tuple[Value, ...]]) -> Parser[tuple[Value, ...]]:
    """Reads what `parse` reads, or an empty list."""
    return lambda value: () if value in ([], ()) else parse(value)


def _matching(expected: str, pattern: str) -> Parser[str]:
    return checked(expected, lambda value: isinstance(value, str) and re.fullmatch(pattern, value))


parse_slug = _matching("letters, digits, dot, - and _ (it names a folder)", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
parse_version = _matching("three numbers such as 1.0.0", r"[0-9]+\.[0-9]+\.[0-9]+")
# Not blank, and without halves of surrogate pairs.
parse_system = _matching("a UTF-8 text that is not blank, or an empty one for none", r"(?=\s*\S|\Z)[^\ud800-\udfff]*")


def parse_lengths(value: object, published: bool = False) -> tuple[int, ...]:
    """Lengths in tokens, ascending; 0 alone means rows without a length, in families that have them.

    Takes `8k` (8k, 4k and 2k, see `halves`; eight even lengths if `published`), `8000`, `1k,2k`, `1k:8k:1k` (first,
    last, step), a list, or a table with max, steps and optionally min and rounding.
    """
    if isinstance(value, Mapping):
        _only(value, ("min", "max", "steps", "rounding"))
        rounding = one_of(ROUNDINGS)(value.get("rounding", "nearest"))
        first = parse_tokens(value["min"]) if "min" in value else None
        last = parse_tokens(value.get("max"))
        if first is not None and first > last:
            raise WrongValueError("expected min not above max")
        return _lengths(length_schedule(last, whole(1, 10_000)(value.get("steps")), first, rounding))
    if isinstance(value, str) and re.fullmatch(r"[\d.]+[kKmM]", value.strip()):
        last = parse_tokens(value)
        return _lengths(length_schedule(last, 8) if published else halves(last))
    if isinstance(value, str) and ":" in value:
        return _lengths(_even_steps(value))
    items = value.split(",") if isinstance(value, str) else value
    return _lengths([parse_tokens(item) for item in (items if isinstance(items, list | tuple) else [items])])


def parse_depths(value: object) -> tuple[float, ...]:
    """Depths in percent, ascending, each once.

    Takes a list, a comma list, one number, or a table with steps, spacing, rounding, keep_ends and optionally min and
    max.
    """
    if not isinstance(value, Mapping):
        points = _percents(value)
    else:
        _only(value, ("steps", "spacing", "rounding", "keep_ends", "min", "max"))
        points = depth_schedule(
            whole(1, 10_000)(value.get("steps")),
            one_of(SPACINGS)(value.get("spacing", "linear")),
            one_of(ROUNDINGS)(value.get("rounding", "none")),
            parse_boolean(value.get("keep_ends", True)),
            parse_percent(value.get("min", 0)),
            parse_percent(value.get("max", 100)),
        )
    if not points:
        raise WrongValueError("expected at least one depth")
    return tuple(sorted(set(points)))


def parse_spread(value: Any) -> str | tuple[float, ...]:
    """How a set's needles are spread: a name of SPREADS, or the depth of each in percent."""
    if isinstance(value, str) and value in SPREADS:
        return value
    if (isinstance(value, list | tuple) and value) or (isinstance(value, str) and re.fullmatch(r"[\d.,\s]+", value)):
        return tuple(_percents(value))
    raise WrongValueError(f"expected {', '.join(SPREADS)}, or the depth of each needle in percent")


def _even_steps(value: str) -> list[int]:
    """The lengths of `1k:8k:1k`."""
    parts = [parse_tokens(part) for part in value.split(":")]
    if len(parts) != 3 or not 0 < parts[0] <= parts[1] or not parts[2] or (parts[1] - parts[0]) % parts[2]:
        raise WrongValueError("expected first:last:step, a whole number of steps apart, such as 1k:8k:1k")
    if (parts[1] - parts[0]) // parts[2] >= 10_000:
        raise WrongValueError("expected at most 10,000 lengths")
    return list(range(parts[0], parts[1] + 1, parts[2]))


def _lengths(values: Sequence[int]) -> tuple[int, ...]:
    if not values or (min(values) < 1 and tuple(values) != WITHOUT_LENGTH):
        raise WrongValueError("expected lengths of at least 1 token")
    return tuple(sorted(set(values)))


def parse_tokens(value: object) -> int:
    """A number of tokens: 8000, `8k` or `1m`."""
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)([kKmM]?)\s*", value)):
        number = Decimal(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()]
        value = int(number) if number == int(number) else None
    if isinstance(value, int) and not isinstance(value, bool) and value <= _MOST_TOKENS:
        return value
    raise WrongValueError(f"expected a number of tokens such as 8000, 8k or 1m, at most {_MOST_TOKENS}")


def _percents(value: Any) -> list[float]:
    """Percentages in their order: a list, numbers with commas, or one."""
    try:
        items = [float(part) for part in value.split(",")] if isinstance(value, str) else value
    except ValueError:
        raise WrongValueError("expected numbers") from None
    return [parse_percent(item) for item in (items if isinstance(items, list | tuple) else [items])]


def parse_percent(value: Any) -> float:
    """A number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise WrongValueError("expected a percentage from 0 to 100")
    return float(value) + 0.0  # turns -0.0 into 0.0


def parse_weight(value: Any) -> float:
    """A finite number, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise WrongValueError("expected a number, at least 0")
    return float(value)


def _only(table: Mapping[str, object], names: Sequence[str]) -> None:
    for name in table:
        if name not in names:
            raise WrongValueError(f"unknown field {name!r}{suggestion(name, names)}")


def parse_names(value: Any) -> tuple[str, ...]:
    """Names, each once, as a list or separated by commas."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) and n.strip() for n in names):
        raise WrongValueError("expected a list of names, none blank")
    return tuple(dict.fromkeys(name.strip() for name in names))


def parse_pins(value: Any) -> tuple[tuple[str, str], ...]:
    """sha256 by name, sorted."""
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise WrongValueError("expected a table of names and sha256")
    return tuple(sorted(value.items()))


def parse_languages(value: Any) -> tuple[str, ...]:
    """Languages that corpora can have."""
    return tuple(map(parse_question_language, parse_names(value)))


def parse_question_language(value: Any) -> str:
    """The language that questions are asked in; empty for that of the texts."""
    if value not in ("", *language_codes()):
        raise WrongValueError(f"expected {' or '.join(language_codes())} (see docs/languages.md)")
    return str(value)


def linear_points(first: float, last: float, steps: int) -> list[float]:
    """`steps` even points from first to last, both included; one step gives `first`.

    Computed as numpy.linspace does (step times index plus start, the end exact), so that rounding gives the same.
    """
    if steps == 1:
        return [first]
    step = (last - first) / (steps - 1)
    return [number * step + first for number in range(steps - 1)] + [last]


def sigmoid(percent: float) -> float:
    """100 / (1 + exp(-0.1 (x - 50))), rounded to 3 decimals: gkamradt's and OpenCompass's denser ends, in percent."""
    return round(100 / (1 + math.exp(-0.1 * (percent - 50))), 3)


def depth_schedule(
    steps: int, spacing: str, rounding: str, keep_ends: bool, first: float = 0.0, last: float = 100.0
) -> list[float]:
    """Depths in percent. `keep_ends`: a sigmoid leaves 0 and 100 as they are (gkamradt); OpenCompass moves them too."""
    points = linear_points(first, last, steps)
    if spacing == "sigmoid":
        points = [point if keep_ends and point in (0.0, 100.0) else sigmoid(point) for point in points]
    return [ROUNDINGS[rounding](point) for point in points]


def halves(last: int) -> list[int]:
    """Lengths in tokens, ascending: `last`, its half and so on down to 2,000; below that, `last` alone."""
    lengths = [last]
    while lengths[0] >= 4000:
        lengths.insert(0, lengths[0] // 2)
    return lengths


def length_schedule(last: int, steps: int, first: int | None = None, rounding: str = "nearest") -> list[int]:
    """Lengths in tokens: from `first` to `last`, or, without `first`, the even parts of `last` (1k ... 8k for 8k)."""
    points = linear_points(first, last, steps) if first is not None else linear_points(last / steps, last, steps)
    return [int(ROUNDINGS[rounding](point)) for point in points]


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

    @property
    def has_worlds(self) -> bool:
        """Whether its rows ask all cells of worlds."""
        return "worlds" in self.options and not is_own(self.task)

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
