"""Reads a recipe (TOML, preset, mapping) into a Recipe, or says everything that is wrong with it at once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.corpora.find import locate
from niah_gen.errors import NiahError, RecipeError, TokenizerError, suggestion
from niah_gen.haystacks.boundaries import BOUNDARIES
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.haystacks.spread import SPREADS
from niah_gen.prompts.templates import POSITIONS, guide_problem, template_for, template_library, template_names
from niah_gen.recipe.presets import preset_names, preset_text
from niah_gen.recipe.recipe import Recipe
from niah_gen.recipe.schedules import depth_schedule, length_schedule
from niah_gen.recipe.values import (
    WrongValueError,
    one_of,
    parse_boolean,
    parse_depths,
    parse_languages,
    parse_lengths,
    parse_names,
    parse_percent,
    parse_pins,
    parse_slug,
    parse_spread,
    parse_text,
    parse_version,
    whole,
)
from niah_gen.tasks.base import Task
from niah_gen.tasks.needle import task_for
from niah_gen.tasks.needle_library import Needle, find_needles, parse_needle
from niah_gen.tasks.options import options_table, read_options
from niah_gen.tasks.records import Settings
from niah_gen.tasks.registry import find_task, is_own
from niah_score.contract import PromptForm

Value = TypeVar("Value")

FORMS = ("text", "chat")
LEAKS = ("drop", "refuse", "report")
# `paraphrase` says which question of a needle is asked: a resolved recipe holds that question, no longer the choice.
FIELDS = (*(field.name for field in fields(Recipe)), "paraphrase")


def load_recipe(
    source: str | Path | Mapping[str, Any] | Recipe,
    overrides: Mapping[str, Any] | None = None,
    *,
    here: bool = True,
) -> Recipe:
    """A recipe from a preset's name, a TOML file, a mapping, or a recipe; `overrides` replace fields before checking.

    An override's name may be dotted (`depths.steps`). `here`: the corpora, the tokenizer and the task family must be on
    this machine, and a family of the user's own may lie in the working folder.
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
    if "task" in overrides and overrides["task"] != raw.get("task"):
        for name in _not_for(overrides["task"], here):
            raw.pop(name, None)  # the preset's own
    for name, value in overrides.items():
        _override(raw, name, value)
    return _Reader(raw, where, here).recipe()


def _not_for(task: object, here: bool) -> list[str]:
    """The fields that a family has no use for, or that only the family it replaces knew."""
    fields = ["options", "controls"]
    try:
        found = find_task(str(task), here=here)
    except RecipeError:
        return fields  # which the reader will say again
    fields += [] if found.hides_needles else ["needles", "paraphrase"]
    return fields + ([] if found.corpus is None else ["corpora"])


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
        placement = self.take("placement", one_of(PLACEMENTS), "native")
        kind = PLACEMENTS[placement]
        template = self.take("template", one_of(template_names()), kind.template)
        task_name, task = self._task()
        needles = self._needles(task)
        if task is None and not task_name:
            task = task_for(needles)
        spread: str | tuple[float, ...] = self.take(
            "spread", parse_spread, parse_spread("diff") if "diff" in self.raw else kind.spread
        )
        depths = tuple(depth_schedule(21, "linear", "nearest", True)) if isinstance(spread, str) else spread[:1]
        boundaries = BOUNDARIES if "boundary" in kind.choices else (kind.boundary,)
        leaks = LEAKS if "leaks" in kind.choices else (kind.leaks,)
        recipe = Recipe(
            name=self.take("name", parse_slug, "dataset"),
            version=self.take("version", parse_version, "1.0.0"),
            task=task_name or (task.name if task else ""),
            placement=placement,
            tokenizer=self._tokenizer(),
            template=template,
            form=self._form(template),
            guide=self.take("guide", parse_boolean, True),
            question_position=self.take("question_position", one_of(POSITIONS), "end"),
            lengths=self.take("lengths", parse_lengths, tuple(length_schedule(8000, 8))),
            depths=self.take("depths", parse_depths, depths),
            repeats=self.take("repeats", whole(1, 100_000), 1),
            reserve=self.take("reserve", whole(0, 1_000_000), 200),
            seed=self.take("seed", whole(0, 2**31 - 1), 0),
            max_new_tokens=self.take("max_new_tokens", whole(1, 1_000_000), 200),
            diff=self.take("diff", parse_percent, 25.0),
            spread=spread if kind.any_spread or "spread" in self.raw else kind.spread,
            boundary=self.take("boundary", one_of(boundaries), kind.boundary),
            leaks=self.take("leaks", one_of(leaks), kind.leaks),
            fresh_haystacks=self.take("fresh_haystacks", parse_boolean, False),
            languages=self.take("languages", parse_languages, ()),
            corpora=self._corpora(task),
            needles=tuple(needles),
            pins=self.take("pins", parse_pins, ()),
            options=self._options(task),
            controls=self._controls(task),
        )
        self._check_together(recipe, task)
        if self.problems:
            raise RecipeError(self.problems, self.where)
        return recipe

    def take(self, name: str, parse: Callable[[Any], Value], default: Value) -> Value:
        if name not in self.raw:
            return default
        try:
            return parse(self.raw[name])
        except WrongValueError as error:
            self.problems.append(f"{name}: {error}; found {self.raw[name]!r}")
            return default

    def _task(self) -> tuple[str, Task | None]:
        """The family's name, empty where none is named, and the family; None where it is not on this machine."""
        name = self.take("task", parse_text, "")
        if not name:
            return "", None
        try:
            return name, find_task(name, here=self.here)
        except RecipeError as error:
            # Whoever only reads a dataset's recipe needs no module of the user's.
            if self.here or not is_own(name):
                self.problems += [f"task: {problem}" for problem in error.problems]
            return name, None

    def _needles(self, task: Task | None) -> list[Needle]:
        if task is not None and not task.hides_needles:
            if self.raw.get("needles"):
                self.problems.append(f"needles: task {task.name!r} has items of its own; leave needles out")
            return []
        if task is None and is_own(str(self.raw.get("task", ""))) and not self.raw.get("needles"):
            return []
        listed = self.raw.get("needles", _DEFAULT_NEEDLES)
        paraphrase = self.take("paraphrase", parse_boolean, False)
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

    def _corpora(self, task: Task | None) -> tuple[str, ...]:
        if task is not None and task.corpus is not None:
            if self.raw.get("placement", "native") != "native":
                self.problems.append(f"placement: task {task.name!r} makes contexts of its own; leave placement out")
            if self.raw.get("corpora"):
                self.problems.append(f"corpora: task {task.name!r} reads none; leave corpora out")
            return ()
        if task is None and self.raw.get("corpora") == []:
            return ()
        return self.take("corpora", parse_names, _DEFAULT_CORPORA)

    def _options(self, task: Task | None) -> dict[str, Any]:
        table = self.raw.get("options", {})
        if not isinstance(table, Mapping):
            self.problems.append(f"options: expected a table; found {table!r}")
            return {}
        if task is None:
            return dict(table)
        options, problems = read_options(task.options, table)
        self.problems += problems
        return {} if problems else options_table(options)

    def _controls(self, task: Task | None) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        if self.raw.get("controls") not in ([], ()):
            found = self.take("controls", parse_names, ())
        if task is not None:
            for name in found:
                if name not in task.controls:
                    known = suggestion(name, task.controls) or "; it has none"
                    self.problems.append(f"controls: task {task.name!r} has no control {name!r}{known}")
        return found

    def _tokenizer(self) -> str:
        from niah_gen.tokenizers.find import encoding_name, tokenizer_path

        spec = self.take("tokenizer", parse_text, "cl100k_base")
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
        asked = self.take("form", one_of(FORMS), str(known.forms()[0]) if known else "text")
        return "chat" if asked == "chat" else "text"

    def _check_together(self, recipe: Recipe, task: Task | None) -> None:
        """Check what involves several fields."""
        for spec in recipe.corpora if self.here else ():
            try:
                locate(spec)
            except NiahError as error:
                self.problems.append(f"corpora: {error}")
        if task is not None and not self.problems:
            self.problems += task.wrong_settings(settings_of(recipe, task))
        template = template_library().get(recipe.template)
        for needle in recipe.needles:
            if recipe.guide and template:
                problem = guide_problem(template, recipe.placement, needle.id, needle.question)
                self.problems += [problem] if problem else []
        self._check_placement(recipe)
        self._check_spread(recipe)
        for language in LANGUAGES:
            template = template_for(recipe.template, language)
            if template and recipe.question_position not in template.wordings:
                self.problems.append(
                    f"question_position: template {template.name!r} asks at the {', '.join(template.wordings)} only, "
                    f'not at {recipe.question_position!r}; template "niah" has all'
                )
                break

    def _check_placement(self, recipe: Recipe) -> None:
        most = recipe.placing.most_needles
        for needle in recipe.needles:
            if most is not None and len(needle.needles) > most:
                self.problems.append(
                    f"needles: placement {recipe.placement!r} hides {most} a row, but {needle.id!r} is a set of "
                    f"{len(needle.needles)}"
                )

    def _check_spread(self, recipe: Recipe) -> None:
        kind = recipe.placing
        if not kind.any_spread:
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


def settings_of(recipe: Recipe, task: Task) -> Settings:
    """What a task family sees of a recipe that names it."""
    options, _ = read_options(task.options, recipe.options)
    return Settings(options, recipe.needles, recipe.seed, not recipe.placing.keeps_languages)


_DEFAULT_CORPORA: tuple[str, ...] = ("en_essays", "zh_articles")
_DEFAULT_NEEDLES = tuple(tomllib.loads(preset_text("default"))["needles"])
