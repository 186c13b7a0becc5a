"""Reads a recipe (TOML, preset, mapping) into a Recipe, or reports everything that is wrong with it at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeGuard

from niah_gen.errors import RecipeError, ResourceError, suggestion
from niah_gen.fields import Fields, Parser, checked, parse_text, read_toml
from niah_gen.haystacks.spread import SPREADS
from niah_gen.recipe.part import PART_FIELDS, PartReader, wrong_prompts
from niah_gen.recipe.recipe import Part, Recipe, preset_names, preset_text, stated
from niah_gen.recipe.unasked import with_needles_of_corpora, without_unasked_corpora
from niah_gen.recipe.values import parse_slug
from niah_gen.tasks.base import Task
from niah_gen.tasks.needle import SINGLE
from niah_gen.tasks.registry import find_task
from niah_score.contract import PromptForm

# What belongs to the whole recipe.
SHARED_FIELDS = tuple(one.name for one in fields(Recipe) if one.name != "parts")
FIELDS = (*SHARED_FIELDS, *PART_FIELDS)
# Of parts, and of needles, lengths, depths or corpora in one list.
_MOST_PARTS, _MOST_ITEMS = 1000, 10_000
_LISTS = ("lengths", "depths", "needles", "corpora", "control_depths", "languages")

_parse_form: Parser[PromptForm] = checked("text or chat", lambda value: value in ("text", "chat"))

Table = Mapping[str, Any]


def load_recipe(
    source: str | Path | Table | Recipe,
    overrides: Table | None = None,
    *,
    here: bool = True,
    task_modules: Collection[str] = (),
    notice: Callable[[str], None] | None = None,
) -> Recipe:
    """A recipe from a preset's name, a TOML file, a mapping, or a recipe; `overrides` replace fields before checking.

    An override's name may be dotted (`depths.steps`). In a recipe with parts it replaces the field in every part that
    can use it, or only in one (`parts.NAME.weight`). `here`: the corpora, the tokenizer and the task family must be on
    this machine; a user's own family may be in the working folder. Otherwise, as for the recipe of a dataset, a module
    outside the package is imported only if it is one of `task_modules`. `notice` gets sentences about the user's own
    files, and about corpora that are left out because nothing is asked in their language; those that the source or an
    override names are kept. Raises RecipeError with all problems.
    """
    raw, where = _raw(source)
    overrides = dict(overrides or {})
    _refuse_long(raw, overrides, where)
    allowed = None if here else task_modules
    problems: list[str] = []
    notes: list[str] = []
    listed = raw.pop("parts", None)
    tables: dict[str | None, Table] = {None: raw} if listed is None else _part_tables(listed, problems, where)
    general, acting = _told_apart(overrides, tables, problems)
    whole = Fields(overridden(raw, general, allowed), problems)
    unknown = [name for name in whole.raw if name not in FIELDS]
    problems += [f"{name}: unknown field{suggestion(name, (*FIELDS, 'parts'))}" for name in unknown]
    base = {} if listed is None else raw
    families = {name: _family({**base, **table, **acting[name]}.get("task"), allowed) for name, table in tables.items()}
    parts: list[Part] = []
    wrong: dict[str | None, list[str]] = {}
    for name, family in families.items():
        usable = {field: value for field, value in base.items() if _can_use(family, field)}
        useful = {
            field: value for field, value in general.items()
            # An override that no part can use goes to all of them, which then report it.
            if _can_use(family, field) or not any(_can_use(other, field) for other in families.values())
        }  # fmt: skip
        table = overridden({**usable, **tables[name]}, {**useful, **acting[name]}, allowed)
        parts.append(PartReader(table, wrong.setdefault(name, []), notes, allowed).part(name))
    problems += _of_parts(wrong)
    template = next(filter(None, map(parts[0].template_in, parts[0].languages)), None)
    recipe = Recipe(
        **stated(Recipe, whole),
        tokenizer=_tokenizer(whole, here),
        form=whole.take("form", _parse_form, template.forms()[0] if template else "text"),
        parts=tuple(parts),
    )
    prompts = (one for part in parts for one in wrong_prompts(part, recipe.languages or part.languages, recipe.form))
    problems += dict.fromkeys(prompts)
    if problems:
        raise RecipeError(problems, where)
    tell = notice or (lambda sentence: None)
    for sentence in dict.fromkeys(notes) if not isinstance(source, Recipe) else ():
        tell(sentence)
    if not here:
        return recipe
    preset = _is_preset(source)
    if preset and "corpora" in overrides and not any(name.endswith(("needles", "paraphrase")) for name in overrides):
        # Users who bring texts in other languages want questions about them.
        recipe = replace(recipe, parts=tuple(with_needles_of_corpora(part, tell) for part in recipe.parts))
    if "corpora" in overrides or ("corpora" in raw and not preset):
        return recipe
    named = {name for name in tables if "corpora" in acting[name] or ("corpora" in tables[name] and not preset)}
    kept = [one if one.name in named else without_unasked_corpora(one, recipe.languages, tell) for one in recipe.parts]
    return replace(recipe, parts=tuple(kept))


def _part_tables(listed: object, problems: list[str], where: str) -> dict[str | None, Table]:
    """The tables of the [[parts]] of a recipe, by name. Adds what is wrong with their fields to `problems`."""
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(table, Mapping) for table in listed):
        raise RecipeError(["parts: expected a list of tables, [[parts]], with at least one"], where)
    tables: dict[str | None, Table] = {}
    for number, table in enumerate(listed, 1):
        place = f"parts[{number}]"
        name = Fields(table, problems, place).take("name", parse_slug, f"part-{number}", required=True)
        if name in tables:
            problems.append(f"parts: two are called {name!r}; give each its own name")
        tables[name] = {field: value for field, value in table.items() if field != "name"}
        _check_names(tables[name], problems, place)
    return tables


def _check_names(table: Table, problems: list[str], where: str) -> None:
    """Add the fields that a part cannot have to `problems`."""
    Fields(table, problems, where, (*PART_FIELDS, *SHARED_FIELDS, "weight"))
    shared = [field for field in table if field in SHARED_FIELDS]
    problems += [f"{where}.{field}: belongs to the whole recipe; write it above the parts" for field in shared]


def _told_apart(
    overrides: Table, tables: Mapping[str | None, Table], problems: list[str]
) -> tuple[dict[str, Any], dict[str | None, dict[str, Any]]]:
    """The overrides of all parts, and those of each part, given as `parts.NAME.FIELD`."""
    general: dict[str, Any] = {}
    acting: dict[str | None, dict[str, Any]] = {name: {} for name in tables}
    for key, value in overrides.items():
        name = next((name for name in tables if key.startswith(f"parts.{name}.")), None)
        if name is not None:
            acting[name][key.removeprefix(f"parts.{name}.")] = value
        elif key.split(".")[0] == "parts":
            near = suggestion(key.split(".")[1], filter(None, tables)) if "." in key else ""
            problems.append(f"{key}: expected parts.NAME.FIELD, with the name of a part{near}")
        elif key == "task" and None not in tables:
            problems.append("task: every part of this recipe has its own; write parts.NAME.task")
        else:
            general[key] = value
    for name, table in acting.items():
        _check_names({key.split(".")[0]: value for key, value in table.items()}, problems, f"parts.{name}")
    return general, acting


def _family(task: object, allowed: Collection[str] | None) -> Task | None:
    """The family that a part names, one of those that needles decide between if it names none; None if unknown."""
    try:
        return find_task(str(task), allowed=allowed) if task else SINGLE
    except RecipeError:
        return None  # the reader reports it


def _can_use(family: Task | None, field: str) -> bool:
    if family is None:
        return True
    if field.startswith("options."):
        return field.split(".")[1] in {one.name for one in fields(family.options)}
    if field in ("needles", "paraphrase"):
        return family.hides_needles
    return field != "corpora" or family.corpus is None


def overridden(raw: Table, overrides: Table, allowed: Collection[str] | None) -> dict[str, Any]:
    """A raw recipe with some fields replaced, and without the fields that only made sense with the replaced ones.

    `allowed`: as for `find_task`.
    """
    gone: set[str] = set()
    if "placement" in overrides:
        gone |= {"spread", "boundary", "leaks", "fresh_haystacks"}
    if "template" in overrides:
        gone.add("templates")
    if "task" in overrides or any(name == "options" or name.startswith("options.distractors") for name in overrides):
        gone.add("spread")  # an even spread would put the needle before all its distractors
    if overrides.get("spread", "even") not in SPREADS and not any(name.startswith("depths") for name in overrides):
        gone.add("depths")  # depths of all needles include the first one's
    if "task" in overrides and overrides["task"] != raw.get("task"):
        family = _family(overrides["task"], allowed)
        gone |= {
            "options",
            "controls",
            *(name for name in ("needles", "paraphrase", "corpora") if not _can_use(family, name)),
        }
    table = {name: value for name, value in raw.items() if name not in gone}
    if "diff" in overrides:
        table["spread"] = "diff"
    for name, value in overrides.items():
        inner = table
        *parents, last = name.split(".")
        for parent in parents:
            inner[parent] = dict(inner[parent]) if isinstance(inner.get(parent), dict) else {}
            inner = inner[parent]
        inner[last] = value
    return table


def _of_parts(wrong: Mapping[str | None, Sequence[str]]) -> Iterator[str]:
    """What is wrong with the parts; a problem that all of them have is given once."""
    first, *others = wrong.values()
    everywhere = [problem for problem in first if all(problem in problems for problems in others)]
    yield from dict.fromkeys(everywhere)
    for name, problems in wrong.items():
        yield from (f"parts.{name}.{problem}" for problem in problems if problem not in everywhere)


def _tokenizer(table: Fields, here: bool) -> str:
    from niah_gen.tokenizers.find import encoding_name, tokenizer_path

    spec: str = table.take("tokenizer", parse_text, "cl100k_base")
    with table.about("tokenizer"):
        encoding = encoding_name(spec)
        if encoding is None and here:
            tokenizer_path(spec)
        return encoding or spec
    return spec


def _raw(source: str | Path | Table | Recipe) -> tuple[dict[str, Any], str]:
    if isinstance(source, Recipe):
        return source.table(), f"recipe {source.name!r}"
    if isinstance(source, Mapping):
        return dict(source), "recipe"
    if _is_preset(source):
        return tomllib.loads(preset_text(source)), f"preset {source!r}"
    path = Path(source)
    if path.suffix != ".toml" and not os.path.isfile(path):
        near = suggestion(str(source), preset_names())
        raise RecipeError([f"{str(source)!r} is neither a preset nor a .toml file{near}"])
    return {"name": path.stem, **read_toml(path)[1]}, str(path)


def _refuse_long(raw: Table, overrides: Table, where: str) -> None:
    """Raise ResourceError for a recipe whose lists would take minutes to read."""
    parts = raw["parts"] if isinstance(raw.get("parts"), list | tuple) else ()
    if len(parts) > _MOST_PARTS:
        raise ResourceError(f"{where}: {len(parts):,} parts; a recipe may have {_MOST_PARTS:,}: split it into several")
    tables = [raw, overrides, *(part for part in parts if isinstance(part, Mapping))]
    for name, value in ((name, value) for table in tables for name, value in table.items()):
        items = value.split(",") if isinstance(value, str) and name.rpartition(".")[2] in _LISTS else value
        if isinstance(items, list | tuple) and len(items) > _MOST_ITEMS:
            raise ResourceError(f"{where}: {name} lists {len(items):,}; a recipe may list {_MOST_ITEMS:,}: split it")


def _is_preset(source: object) -> TypeGuard[str]:
    return isinstance(source, str) and source in preset_names()
