"""Reads a recipe (TOML, preset, dict) into one frozen record, or says everything that is wrong with it at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.corpora.find import locate
from niah_gen.errors import NiahError, RecipeError, TokenizerError, suggestion
from niah_gen.haystacks.boundaries import BOUNDARIES
from niah_gen.prompts.templates import POSITIONS, guide_problem, template_for, template_library, template_names
from niah_gen.recipe.schedules import ROUNDINGS, SPACINGS, SPREADS, depth_schedule, length_schedule
from niah_gen.tasks.needle_library import Needle, find_needles, parse_needle
from niah_score.contract import PromptForm

Value = TypeVar("Value")

_FOLDER = Path(__file__).parents[1] / "library" / "presets"

TASKS = ("single", "multi")
FORMS = ("text", "chat")
_MOST_TOKENS = 2**31 - 1  # lengths are int32 columns


LEAKS = ("drop", "refuse", "report")


@dataclass(frozen=True, slots=True)
class PlacementKind:
    """What a recipe needs to know of a placement. `version` changes whenever the rows that it makes change.

    `boundary`, `spread`, `leaks`: what it does, unless it is native and the recipe chooses.
    """

    version: int
    template: str
    boundary: str
    spread: str
    leaks: str = "report"
    native: bool = False


PLACEMENTS: dict[str, PlacementKind] = {
    "native": PlacementKind(2, "niah", "sentence", "even", "drop", native=True),
    # The published systems know no languages: any needle goes into any corpus.
    "gkamradt": PlacementKind(1, "gkamradt-openai", "sentence", "even"),
    "opencompass": PlacementKind(1, "opencompass", "token", "diff"),
    "opencompass-processed": PlacementKind(1, "opencompass-zh", "token", "diff"),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A resolved recipe: every field has its value, schedules are lists, needles are whole.

    `lengths` and `reserve` are in tokens, `depths` and `diff` in percent. `spread`: how a set's needles are spread:
    even, diff (`diff` apart), random, or the depth of each. `boundary`: where native needles stand. `leaks`: what
    native does about documents that hold a keyword. `fresh_haystacks`: every native row has filler of its own.
    `languages`: empty for all that the corpora have. `pins`: sha256 of the tokenizer and the corpora, by name, that a
    resolved recipe was built with; another corpus of that name is refused.
    """

    name: str
    version: str
    task: str
    placement: str
    tokenizer: str
    template: str
    form: PromptForm
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
    languages: tuple[str, ...]
    corpora: tuple[str, ...]
    needles: tuple[Needle, ...]
    pins: tuple[tuple[str, str], ...] = ()

    def hidden(self, needle: Needle) -> tuple[str, ...]:
        """A needle's texts as they are put in: native strips them, the published placements keep their line ends."""
        if PLACEMENTS[self.placement].native:
            return tuple(text.strip() for text in needle.needles)
        return needle.needles

    def boundary_at(self, depth: float) -> str:
        """Where needles stand in rows of a depth: gkamradt appends at 100, wherever the text ends."""
        return "token" if self.placement == "gkamradt" and depth == 100 else self.boundary

    def placed_depths(self) -> tuple[float, ...]:
        """The depths that rows are made for."""
        if self.placement == "opencompass-processed":
            # Its files are named by the depth's whole part, so a later depth overwrites an earlier one of that name.
            return tuple({int(depth): depth for depth in self.depths}.values())
        return self.depths

    def table(self) -> dict[str, object]:
        """The recipe as TOML values: reading them back gives the same recipe."""
        table: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            table[field.name] = list(value) if isinstance(value, tuple) else value
        table["depths"] = _plain(self.depths)
        if not isinstance(self.spread, str):
            table["spread"] = _plain(self.spread)
        table["needles"] = [needle.table() for needle in self.needles]
        table["pins"] = dict(self.pins)
        if not self.pins:
            del table["pins"]
        return table

    def to_toml(self) -> bytes:
        """recipe.toml of a dataset folder."""
        import tomli_w

        head = "# The resolved recipe: `niah-gen build recipe.toml` gives the same rows.\n"
        return (head + tomli_w.dumps(self.table())).encode()


def _plain(numbers: Sequence[float]) -> list[float]:
    return [int(number) if number == int(number) else number for number in numbers]


class _WrongError(ValueError):
    """A value is not what a field expects; the message says what was expected."""


# `paraphrase` says which question of a needle is asked: a resolved recipe holds that question, no longer the choice.
FIELDS = (*(field.name for field in fields(Recipe)), "paraphrase")


def preset_names() -> list[str]:
    """Names of the recipes that come with the package, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset. Raises RecipeError for an unknown name."""
    if name not in preset_names():
        raise RecipeError([f"preset {name!r} does not exist{suggestion(name, preset_names())}"])
    return (_FOLDER / f"{name}.toml").read_text("utf-8")


def load_recipe(
    source: str | Path | Mapping[str, Any] | Recipe,
    overrides: Mapping[str, Any] | None = None,
    *,
    here: bool = True,
) -> Recipe:
    """A recipe from a preset's name, a TOML file, a mapping, or a recipe; `overrides` replace fields before checking.

    An override's name may be dotted (`depths.steps`). `here`: the corpora and the tokenizer must be on this machine.
    Raises RecipeError with all problems.
    """
    raw, where = _raw(source)
    overrides = overrides or {}
    if "placement" in overrides:
        for name in ("spread", "boundary", "leaks", "fresh_haystacks"):
            raw.pop(name, None)  # those of the placement replaced
    if "diff" in overrides:
        raw["spread"] = "diff"
    if overrides.get("spread", "even") not in SPREADS and not any(name.startswith("depths") for name in overrides):
        raw.pop("depths", None)  # the preset's own: a depth for each needle leaves no choice of the first one's
    for name, value in overrides.items():
        _override(raw, name, value)
    return _Reader(raw, where, here).recipe()


def _raw(source: str | Path | Mapping[str, Any] | Recipe) -> tuple[dict[str, Any], str]:
    if isinstance(source, Recipe):
        return source.table(), f"recipe {source.name!r}"
    if isinstance(source, Mapping):
        return dict(source), "recipe"
    if isinstance(source, str) and source in preset_names():
        return tomllib.loads(preset_text(source)), f"preset {source!r}"
    path = Path(source)
    if path.suffix != ".toml" and not _is_file(path):
        raise RecipeError(
            [f"{str(source)!r} is neither a preset nor a .toml file{suggestion(str(source), preset_names())}"]
        )
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RecipeError([f"{path}: no such file"]) from None
    except (OSError, ValueError) as error:
        raise RecipeError([f"cannot be read as TOML: {error}"], str(path)) from None
    raw.setdefault("name", path.stem)
    return raw, str(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a path, or a NUL in it
        return False


def _override(raw: dict[str, Any], name: str, value: object) -> None:
    table = raw
    *parents, last = name.split(".")
    for parent in parents:
        inner = table.get(parent)
        table[parent] = dict(inner) if isinstance(inner, dict) else {}
        table = table[parent]
    table[last] = value


class _Reader:
    """Takes fields out of a raw recipe one by one and collects what is wrong."""

    def __init__(self, raw: dict[str, Any], where: str, here: bool) -> None:
        self.raw = raw
        self.where = where
        self.here = here
        self.problems: list[str] = []

    def recipe(self) -> Recipe:
        for name in self.raw:
            if name not in FIELDS:
                self.problems.append(f"{name}: unknown field{suggestion(name, FIELDS)}")
        placement = self.take("placement", _one_of(PLACEMENTS), "native")
        kind = PLACEMENTS[placement]
        template = self.take("template", _one_of(template_names()), kind.template)
        needles = self._needles()
        spread: str | tuple[float, ...] = self.take(
            "spread", _spread, _spread("diff") if "diff" in self.raw else kind.spread
        )
        depths = tuple(depth_schedule(21, "linear", "nearest", True)) if isinstance(spread, str) else spread[:1]
        corpora: tuple[str, ...] = ("en_essays", "zh_articles")
        recipe = Recipe(
            name=self.take("name", _slug, "dataset"),
            version=self.take("version", _version, "1.0.0"),
            task=self.take("task", _one_of(TASKS), "multi" if any(len(n.needles) > 1 for n in needles) else "single"),
            placement=placement,
            tokenizer=self._tokenizer(),
            template=template,
            form=self._form(template),
            guide=self.take("guide", _boolean, True),
            question_position=self.take("question_position", _one_of(POSITIONS), "end"),
            lengths=self.take("lengths", parse_lengths, tuple(length_schedule(8000, 8))),
            depths=self.take("depths", parse_depths, depths),
            repeats=self.take("repeats", _whole(1, 100_000), 1),
            reserve=self.take("reserve", _whole(0, 1_000_000), 200),
            seed=self.take("seed", _whole(0, 2**31 - 1), 0),
            max_new_tokens=self.take("max_new_tokens", _whole(1, 1_000_000), 200),
            diff=self.take("diff", _percent, 25.0),
            spread=spread if kind.native or "spread" in self.raw else kind.spread,
            boundary=self.take("boundary", _one_of(BOUNDARIES if kind.native else (kind.boundary,)), kind.boundary),
            leaks=self.take("leaks", _one_of(LEAKS if kind.native else (kind.leaks,)), kind.leaks),
            fresh_haystacks=self.take("fresh_haystacks", _boolean, False),
            languages=self.take("languages", _languages, ()),
            corpora=self.take("corpora", _names, corpora),
            needles=tuple(needles),
            pins=self.take("pins", _pins, ()),
        )
        self._check_together(recipe)
        if self.problems:
            raise RecipeError(self.problems, self.where)
        return recipe

    def take(self, name: str, parse: Callable[[Any], Value], default: Value) -> Value:
        if name not in self.raw:
            return default
        try:
            return parse(self.raw[name])
        except _WrongError as error:
            self.problems.append(f"{name}: {error}; found {self.raw[name]!r}")
            return default

    def _needles(self) -> list[Needle]:
        listed = self.raw.get("needles", _DEFAULT_NEEDLES)
        paraphrase = self.take("paraphrase", _boolean, False)
        found: list[Needle] = []
        for number, item in enumerate(listed if isinstance(listed, list | tuple) else [listed], 1):
            if isinstance(item, str):
                try:
                    found += find_needles(item)
                except RecipeError as error:
                    self.problems += [f"needles[{number}]: {problem}" for problem in error.problems]
            elif isinstance(item, dict):
                needle, problems = parse_needle({"id": f"needle-{number}", **item})
                self.problems += [f"needles[{number}].{problem}" for problem in problems]
                found += [needle] if needle else []
            else:
                self.problems.append(f"needles[{number}]: expected a name or a table, found {item!r}")
        without = [needle.id for needle in found if paraphrase and not needle.paraphrase]
        if without:
            self.problems.append(f"paraphrase: no paraphrased question for needle {', '.join(without)}")
        ids = [needle.id for needle in found]
        for name in sorted({name for name in ids if ids.count(name) > 1}):
            self.problems.append(f"needles: {name!r} is given twice; give each needle an id of its own")
        if not found and not self.problems:
            self.problems.append("needles: expected at least one name or table; found none")
        return [needle.asked(paraphrase) for needle in found]

    def _tokenizer(self) -> str:
        from niah_gen.tokenizers.find import encoding_name, tokenizer_path

        spec = self.take("tokenizer", _text, "cl100k_base")
        try:
            encoding = encoding_name(spec)
            if encoding is None and self.here:
                tokenizer_path(spec)
        except TokenizerError as error:
            self.problems.append(str(error))
            return spec
        return encoding or spec

    def _form(self, template: str) -> PromptForm:
        known = template_for(template, "en") or template_for(template, "zh")
        asked = self.take("form", _one_of(FORMS), str(known.forms()[0]) if known else "text")
        return "chat" if asked == "chat" else "text"

    def _check_together(self, recipe: Recipe) -> None:
        """What no field can tell alone."""
        for spec in recipe.corpora if self.here else ():
            try:
                locate(spec)
            except NiahError as error:
                self.problems.append(f"corpora: {error}")
        for needle in recipe.needles:
            if recipe.task == "single" and len(needle.needles) > 1:
                self.problems.append(
                    f'needles: {needle.id!r} is a set of {len(needle.needles)}; that is task = "multi"'
                )
            template = template_library().get(recipe.template)
            if recipe.guide and template and (problem := guide_problem(template, recipe.placement, needle)):
                self.problems.append(problem)
        if recipe.placement == "opencompass-processed" and recipe.task != "single":
            self.problems.append('task: placement "opencompass-processed" hides one needle; use task = "single"')
        self._check_spread(recipe)
        for language in LANGUAGES:
            template = template_for(recipe.template, language)
            if template and recipe.question_position not in template.wordings:
                self.problems.append(
                    f"question_position: template {template.name!r} asks at the {', '.join(template.wordings)} only, "
                    f'not at {recipe.question_position!r}; template "niah" has all'
                )
                break

    def _check_spread(self, recipe: Recipe) -> None:
        kind = PLACEMENTS[recipe.placement]
        if not kind.native:
            for name, value, own in (
                ("spread", recipe.spread, kind.spread), ("fresh_haystacks", recipe.fresh_haystacks, False),
            ):  # fmt: skip
                if value != own:
                    self.problems.append(f'{name}: placement {recipe.placement!r} knows {own!r} only; use "native"')
            return
        if not isinstance(recipe.spread, str):
            if recipe.depths != recipe.spread[:1]:
                self.problems.append(
                    f"depths: spread gives every needle its depth, so the only depth is the first one's, "
                    f"{recipe.spread[0]:g}; leave depths out"
                )
            for needle in recipe.needles:
                if len(needle.needles) != len(recipe.spread):
                    self.problems.append(
                        f"spread: {len(recipe.spread)} depths, but {needle.id!r} has {len(needle.needles)} needles"
                    )


_DEFAULT_NEEDLES = tuple(tomllib.loads(preset_text("default"))["needles"])


def parse_lengths(value: object) -> tuple[int, ...]:
    """Lengths in tokens, ascending: `8k` (eight even lengths up to it), `8000`, `1k,2k`, a list, or a table with max,
    steps and optionally min and rounding."""
    if isinstance(value, str):
        if re.fullmatch(r"[\d.]+[kKmM]", value.strip()):
            return _lengths(length_schedule(_tokens(value), 8))
        return _lengths([_tokens(part) for part in value.split(",")])
    if isinstance(value, Mapping):
        _only(value, ("min", "max", "steps", "rounding"))
        rounding = _one_of(ROUNDINGS)(value.get("rounding", "nearest"))
        first = _tokens(value["min"]) if "min" in value else None
        last = _tokens(value.get("max"))
        if first is not None and first > last:
            raise _WrongError("expected min not above max")
        return _lengths(length_schedule(last, _whole(1, 10_000)(value.get("steps")), first, rounding))
    return _lengths([_tokens(item) for item in value] if isinstance(value, list | tuple) else [_tokens(value)])


def parse_depths(value: object) -> tuple[float, ...]:
    """Depths in percent, ascending, each once: a list, a comma list, one number, or a table with steps, spacing,
    rounding, keep_ends and optionally min and max."""
    if isinstance(value, str):
        value = [_number(part) for part in value.split(",")]
    if isinstance(value, Mapping):
        _only(value, ("steps", "spacing", "rounding", "keep_ends", "min", "max"))
        points = depth_schedule(
            _whole(1, 10_000)(value.get("steps")),
            _one_of(SPACINGS)(value.get("spacing", "linear")),
            _one_of(ROUNDINGS)(value.get("rounding", "none")),
            _boolean(value.get("keep_ends", True)),
            _percent(value.get("min", 0)),
            _percent(value.get("max", 100)),
        )
    else:
        points = [_percent(item) for item in (value if isinstance(value, list | tuple) else [value])]
    if not points:
        raise _WrongError("expected at least one depth")
    return tuple(sorted(set(points)))


def _spread(value: Any) -> str | tuple[float, ...]:
    if isinstance(value, str) and value in SPREADS:
        return value
    if isinstance(value, str) and re.fullmatch(r"[\d.,\s]+", value):
        value = [_number(part) for part in value.split(",")]
    if isinstance(value, list | tuple) and value:
        return tuple(_percent(item) for item in value)
    raise _WrongError(f"expected {', '.join(SPREADS)}, or the depth of each needle in percent")


def _lengths(values: Sequence[int]) -> tuple[int, ...]:
    if not values or min(values) < 1:
        raise _WrongError("expected lengths of at least 1 token")
    return tuple(sorted(set(values)))


def _tokens(value: object) -> int:
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)([kKmM]?)\s*", value)):
        number = Decimal(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()]
        value = int(number) if number == int(number) else None
    if isinstance(value, int) and not isinstance(value, bool) and value <= _MOST_TOKENS:
        return value
    raise _WrongError(f"expected a number of tokens such as 8000, 8k or 1m, at most {_MOST_TOKENS}")


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise _WrongError("expected numbers") from None


def _percent(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise _WrongError("expected percent, 0 to 100")
    return float(value) + 0.0  # no minus before a zero


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _WrongError(f"expected a whole number from {low} to {high}")
        return value

    return parse


def _one_of(names: Sequence[str] | Mapping[str, object]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            near = suggestion(value, names).rstrip("?") if isinstance(value, str) else ""
            raise _WrongError(f"expected one of {', '.join(names)}{near if 'mean' in near else ''}")
        return value

    return parse


def _only(table: Mapping[str, object], names: Sequence[str]) -> None:
    for name in table:
        if name not in names:
            raise _WrongError(f"unknown field {name!r}{suggestion(name, names)}")


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongError("expected true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _WrongError("expected a text")
    return value


def _slug(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise _WrongError("expected letters, digits, dot, - and _ (it names a folder)")
    return value


def _version(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", value):
        raise _WrongError("expected three numbers such as 1.0.0")
    return value


def _names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) and n.strip() for n in names):
        raise _WrongError("expected a list of names, none blank")
    return tuple(dict.fromkeys(name.strip() for name in names))


def _pins(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise _WrongError("expected a table of names and sha256")
    return tuple(sorted(value.items()))


def _languages(value: Any) -> tuple[str, ...]:
    names = () if value in ([], ()) else _names(value)
    if not set(names) <= set(LANGUAGES):
        raise _WrongError(f"expected {' or '.join(LANGUAGES)}")
    return names
