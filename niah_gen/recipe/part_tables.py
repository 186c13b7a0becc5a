"""Reads the [[parts]] of a recipe: their tables, and which overrides act on which part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError, suggestion
from niah_gen.recipe.overrides import overridden
from niah_gen.recipe.read_part import PART_FIELDS, Fields, PartReader
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.recipe.values import parse_slug, parse_weight
from niah_gen.tasks.needle import SINGLE
from niah_gen.tasks.registry import find_task

# What belongs to the whole recipe.
SHARED_FIELDS = tuple(field.name for field in fields(Recipe) if field.name != "parts")


class PartTable(NamedTuple):
    """One of a recipe's [[parts]]: `own`, its fields; `overrides`, those of `parts.NAME.FIELD`."""

    name: str
    weight: float
    own: Mapping[str, Any]
    overrides: Mapping[str, Any]


def part_tables(raw: Mapping[str, Any], problems: list[str], overrides: dict[str, Any]) -> list[PartTable]:
    """The [[parts]] of a recipe. Takes the overrides that name one of them out of `overrides`."""
    listed = raw.get("parts", [])
    if not isinstance(listed, list | tuple) or not all(isinstance(table, Mapping) for table in listed):
        problems.append("parts: expected a list of tables, [[parts]]")
        return []
    if "parts" in raw and not listed:
        problems.append("parts: expected at least one; leave the field out for a recipe without parts")
    found: list[PartTable] = []
    for number, table in enumerate(listed, 1):
        of_part: list[str] = []
        own = Fields(table, of_part)
        name = own.take("name", parse_slug, "")
        if "name" not in table:
            of_part.append("name: expected one, which names the part in every row")
        mine = {key: overrides.pop(key) for key in list(overrides) if name and key.startswith(f"parts.{name}.")}
        mine = {key.removeprefix(f"parts.{name}."): value for key, value in mine.items()}
        weight = Fields({**table, **mine}, of_part).take("weight", parse_weight, 1.0)
        of_part += filter(None, (_wrong_field(field) for field in table if field != "name"))
        problems += [f"parts[{number}].{problem}" for problem in of_part]
        problems += [f"parts.{name}.{problem}" for problem in filter(None, map(_wrong_override, mine))]
        rest = {key: value for key, value in table.items() if key in PART_FIELDS}
        mine.pop("weight", None)
        found.append(PartTable(name or f"part-{number}", weight, rest, mine))
    names = [table.name for table in found]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        problems.append(f"parts: two are called {name!r}; give each a name of its own")
    for key in [key for key in overrides if key.startswith("parts.")]:
        problems.append(f"{key}: no part of that name{suggestion(key.split('.')[1], names)}")
        del overrides[key]
    return found


def _wrong_field(field: str) -> str | None:
    """Why a part has no field of a name; None for one that it has."""
    if field in SHARED_FIELDS:
        return f"{field}: belongs to the whole recipe; write it above the parts"
    if field not in (*PART_FIELDS, "weight"):
        return f"{field}: unknown field{suggestion(field, (*PART_FIELDS, 'weight'))}"
    return None


def _wrong_override(name: str) -> str | None:
    """Why nothing of a part can be replaced under a name, which may be dotted; None where something can."""
    field = name.split(".")[0]
    if field == "name":
        return "name: a part keeps its name; change it in the recipe"
    if field == "weight" and field != name:
        return f"{name}: weight is a number; write weight"
    return _wrong_field(field)


def read_parts(
    tables: Sequence[PartTable],
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
    problems: list[str],
    here: bool,
    told: list[str],
) -> tuple[Part, ...]:
    """The parts of a recipe. `base`: the recipe's own fields, over which theirs stand; `here`: see `load_recipe`.

    `told`: what the user is told of their files is added to it.
    """
    tasks = [table.overrides.get("task", table.own.get("task", base.get("task"))) for table in tables]
    read = [
        _read(table, _usable(base, task, here), _overrides_of(overrides, table, task, tasks, here), here, told)
        for table, task in zip(tables, tasks, strict=True)
    ]
    problems += _problems_of([(part.name or "", found) for part, found in read])
    return tuple(part for part, _ in read)


def _overrides_of(
    overrides: Mapping[str, Any], table: PartTable, task: object, tasks: Sequence[object], here: bool
) -> dict[str, Any]:
    """The overrides that a part has a use for: options of its family, needles where it hides some.

    `task`: the name of its family, None where its needles tell it; `tasks`: those of all parts.

    What no part has a use for goes to all, which will say so.
    """
    kept = dict(table.overrides)
    for name, value in overrides.items():
        if _has_use(task, name, here) or not any(_has_use(one, name, here) for one in tasks):
            kept.setdefault(name, value)
    return kept


def _has_use(task: object, name: str, here: bool) -> bool:
    try:
        # Families that needles tell apart have a use for the same.
        family = find_task(str(task), here=here) if task else SINGLE
    except RecipeError:
        return True  # which the reader will say again
    if name.startswith("options."):
        return name.split(".")[1] in {field.name for field in fields(family.options)}
    if name in ("needles", "paraphrase"):
        return family.hides_needles
    return name != "corpora" or family.corpus is None


def _usable(base: Mapping[str, Any], task: object, here: bool) -> dict[str, Any]:
    """The recipe's own fields without needles and corpora, where a part's family has no use for them."""
    about = ("needles", "paraphrase", "corpora")
    return {name: value for name, value in base.items() if name not in about or _has_use(task, name, here)}


def _read(
    table: PartTable, base: Mapping[str, Any], overrides: Mapping[str, Any], here: bool, told: list[str]
) -> tuple[Part, list[str]]:
    problems: list[str] = []
    merged = {name: value for name, value in base.items() if name not in SHARED_FIELDS} | dict(table.own)
    raw = overridden(merged, {key: value for key, value in overrides.items() if key not in SHARED_FIELDS}, here)
    reader = PartReader(raw, problems, here)
    part = reader.part(table.name, table.weight)
    told += reader.told
    return part, problems


def _problems_of(found: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """What is wrong with the parts; once where it is the same in all of them."""
    everywhere = [problem for problem in found[0][1] if all(problem in problems for _, problems in found)]
    yield from dict.fromkeys(everywhere)
    for name, problems in found:
        yield from (f"parts.{name}.{problem}" for problem in problems if problem not in everywhere)
